"""The usual check of a project is found by its files, and nothing is taken for one that runs no test."""

from __future__ import annotations

import pytest

from autobuild_action.detect import detect

PYTEST = 'python3 -m pytest --junitxml="$AUTOBUILD_JUNIT"'
UNITTEST = "python3 -m unittest discover"
NPM_DEFAULT = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


def found(files: dict[str, str]) -> str | None:
    check = detect(list(files), files.__getitem__)
    if check is None:
        return None
    assert (check.name, check.required) == ("tests", True)
    return check.command


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "[tool.pytest.ini_options]", "tests/test_a.py": ""},
        {"pyproject.toml": '[project.optional-dependencies]\ntest = ["pytest>=8"]', "pkg/a_test.py": ""},
        {"setup.cfg": "[tool:pytest]", "test_a.py": ""},
        {"tox.ini": "[testenv]\ncommands = pytest", "test_a.py": ""},
        {"requirements-dev.txt": "pytest==8", "a/b/test_c.py": ""},
        {"conftest.py": "", "test_a.py": ""},
        {"tests/test_a.py": "import pytest\n"},
        {"tests/test_a.py": "def f():\n    from pytest import raises\n"},
    ],
)
def test_python_with_a_sign_of_pytest(files: dict[str, str]) -> None:
    assert found(files) == PYTEST


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_a.py": "import unittest"}, UNITTEST),
        ({"tests/__init__.py": "", "tests/test_a.py": ""}, UNITTEST),
        ({"a/__init__.py": "", "a/tests/__init__.py": "", "a/tests/test_a.py": ""}, UNITTEST),
        ({"tests/test_a.py": ""}, f"{UNITTEST} -s tests"),
        ({"src/a/__init__.py": "", "src/a/tests/test_a.py": ""}, f"{UNITTEST} -s src/a/tests"),
        ({"deep/tests/test_a.py": "", "tests/test_b.py": ""}, f"{UNITTEST} -s tests"),
        ({"my tests/test_a.py": ""}, f"{UNITTEST} -s 'my tests'"),
        ({"a_test.py": ""}, f"{UNITTEST} -p '*_test.py'"),
        ({"pkg/a_test.py": ""}, f"{UNITTEST} -s pkg -p '*_test.py'"),
        ({"pyproject.toml": "[project]", "test_a.py": "# no pytest here"}, UNITTEST),
    ],
)
def test_python_without_pytest_is_discovered_where_its_tests_are(files: dict[str, str], expected: str) -> None:
    assert found(files) == expected


@pytest.mark.parametrize(
    "files", [{"pyproject.toml": "pytest"}, {"a.py": "", "testing.py": ""}, {"test_data.json": ""}, {"latest.py": ""}]
)
def test_python_without_tests_has_no_check(files: dict[str, str]) -> None:
    assert found(files) is None


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ('{"scripts": {"test": "jest"}}', "npm test"),
        (NPM_DEFAULT, None),
        ('{"scripts": {"test": ""}}', None),
        ('{"scripts": {"build": "tsc"}}', None),
        ('{"scripts": null}', None),
        ('{"scripts": {"test": 5}}', None),
        ('{"scripts": {"test": ["jest"]}}', None),
        ('{"scripts": "jest"}', None),
        ("{}", None),
        ("[]", None),
        ("{ broken", None),
        ("", None),
    ],
)
def test_node_has_the_check_its_package_names(package: str, expected: str | None) -> None:
    assert found({"package.json": package}) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("go.mod", "go test ./..."),
        ("Cargo.toml", "cargo test"),
        ("pom.xml", "mvn --batch-mode test"),
        ("gradlew", "./gradlew test"),
    ],
)
def test_other_build_files_have_their_usual_check_at_the_root_only(name: str, expected: str) -> None:
    assert found({name: "", "README.md": ""}) == expected
    assert found({f"sub/{name}": ""}) is None


def test_make_has_one_where_there_is_such_a_target() -> None:
    assert found({"Makefile": "all:\n\techo\n\ntest: all\n\t./run\n"}) == "make test"
    assert found({"Makefile": "all:\n\techo test: x\n\ntests:\n"}) is None
    assert found({"Makefile": ".PHONY: test\n"}) is None


def test_nothing_that_is_known_has_none() -> None:
    assert found({}) is None
    assert found({"README.md": "make test"}) is None


def test_the_language_of_the_tests_goes_before_the_others() -> None:
    everything = {
        "test_a.py": "import pytest",
        "package.json": '{"scripts": {"test": "jest"}}',
        "go.mod": "",
        "Makefile": "test:\n",
    }
    assert found(everything) == PYTEST
    del everything["test_a.py"]
    assert found(everything) == "npm test"
    everything["package.json"] = NPM_DEFAULT
    assert found(everything) == "go test ./..."
    del everything["go.mod"]
    assert found(everything) == "make test"

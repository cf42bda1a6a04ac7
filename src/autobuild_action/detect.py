"""Finding a project's check where none is configured: the usual command of its build file, or nothing."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from autobuild_action.evidence import JUNIT_VARIABLE
from autobuild_action.model import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PYTEST = f'python3 -m pytest --junitxml="${JUNIT_VARIABLE}"'
UNITTEST = "python3 -m unittest discover"
PYTHON_FILES = (
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "requirements.txt",
    "requirements-dev.txt",
)
SIMPLE = (
    ("go.mod", "go test ./..."),
    ("Cargo.toml", "cargo test"),
    ("pom.xml", "mvn --batch-mode test"),
    ("gradlew", "./gradlew test"),
)


def detect(paths: Collection[str], read: Callable[[str], str]) -> Check | None:
    """The check of a project with these ``paths``; ``read`` gives the text of one of them."""
    command = _python(paths, read) or _node(paths, read) or _simple(paths) or _make(paths, read)
    return Check(name="tests", command=command) if command else None


def _python(paths: Collection[str], read: Callable[[str], str]) -> str | None:
    tests = [path for path in paths if re.search(r"(^|/)(test_[^/]*|[^/]*_test)\.py$", path)]
    if not tests:
        return None
    if any("pytest" in read(name) for name in PYTHON_FILES if name in paths) or "conftest.py" in paths:
        return PYTEST
    if any(re.search(r"^\s*(import|from) pytest", read(path), re.MULTILINE) for path in tests[:50]):
        return PYTEST
    return _unittest(tests, paths)


def _unittest(tests: list[str], paths: Collection[str]) -> str:
    """``discover`` looks into packages only, for ``test*.py``; where it finds nothing it runs nothing and says OK."""
    named = [path for path in tests if path.rpartition("/")[2].startswith("test")]
    pattern = "" if named else " -p '*_test.py'"
    folders = sorted(
        {path.rpartition("/")[0] for path in named or tests}, key=lambda folder: (folder.count("/"), folder)
    )
    known = set(paths)
    found = any(_is_package(folder, known) for folder in folders)
    return UNITTEST + ("" if found else f" -s {shlex.quote(folders[0])}") + pattern


def _is_package(folder: str, paths: Collection[str]) -> bool:
    parts = folder.split("/") if folder else []
    return all("/".join([*parts[: n + 1], "__init__.py"]) in paths for n in range(len(parts)))


def _node(paths: Collection[str], read: Callable[[str], str]) -> str | None:
    if "package.json" not in paths:
        return None
    try:
        script = json.loads(read("package.json")).get("scripts", {}).get("test", "")
    except (ValueError, AttributeError):
        return None
    return "npm test" if isinstance(script, str) and script and "no test specified" not in script else None


def _simple(paths: Collection[str]) -> str | None:
    return next((command for name, command in SIMPLE if name in paths), None)


def _make(paths: Collection[str], read: Callable[[str], str]) -> str | None:
    return "make test" if "Makefile" in paths and re.search(r"^test:", read("Makefile"), re.MULTILINE) else None

"""What is measured goes before what is said: the gate, the checks, and what a person set up for them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import (
    ADD,
    BROKEN,
    CALC,
    SUB,
    World,
    approves,
    bash,
    builds,
    evidence,
    met,
    plays,
    posted_json,
    read,
    report,
    run,
    verdict,
    words,
    world,
    write,
)

UNITTEST = "python3 -m unittest discover"
HEAD_OF_OVERRIDE = "### Changes asked for by the gate, turn 1 of 5"


@pytest.fixture(scope="module")
def overridden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Turn 1 turns the checks red, writes a workflow and claims tests it never ran; its Coach approves all of it."""
    first = plays(
        read("calc.py"),
        write("calc.py", SUB.replace("a + b", "b")),
        write(".github/workflows/own.yml", "on: push\n"),
        write("notes.txt", "kept\n"),
        report(tests_run=[{"command": UNITTEST, "result": "passed"}]),
    )
    second = plays(
        bash("ls -a .github notes.txt || true"),
        read("calc.py"),
        write("calc.py", SUB),
        bash(UNITTEST),
        report(tests_run=[{"command": UNITTEST, "result": "passed"}]),
    )
    proof = met(1, evidence("file", "calc.py:5"), evidence("check", "tests"))
    with world(
        tmp_path_factory.mktemp("overridden"),
        player=[first, second],
        coach=[approves(), plays(verdict("approve", proof))],
    ) as it:
        it.label()
        it.check()
        yield it


def test_an_approval_over_red_checks_is_overridden_and_the_review_says_so(overridden: World) -> None:
    first = overridden.reviews[0]
    assert first.startswith(f"{HEAD_OF_OVERRIDE}\n")
    assert "the gate overrode it" in first
    document = posted_json(first)
    assert (document["verdict"]["decision"], document["decision"]) == ("approve", "feedback")
    broken = {rule["name"] for rule in document["gate"]["rules"] if not rule["held"]}
    assert broken == {"checks", "refused-paths", "claims"}
    assert overridden.status(0) == (
        "failure",
        "turn 1 of 5: the gate overrode an approval (checks, refused-paths, claims)",
    )
    assert "**failed**, exit 1" in overridden.asked("coach")[0].text


def test_a_claim_about_tests_that_were_not_run_comes_back_as_an_issue(overridden: World) -> None:
    assert "the session ran no such command" in words(overridden.reviews[0])
    told = overridden.asked("player")[1].text
    assert "G1.1.claims" in told
    assert "the session ran no such command" in told
    (row,) = posted_json(overridden.reviews[1])["evidence"]["audit"]
    assert row["result"] == "confirmed"


def test_a_path_that_is_peoples_own_is_refused_and_the_rest_is_kept(overridden: World) -> None:
    assert sorted(overridden.files(0)) == sorted([*CALC, "notes.txt"])
    assert ".github/workflows/own.yml" in overridden.reviews[0]
    told = overridden.asked("player")[1].text
    assert "G1.1.refused-paths" in told
    assert ".github/workflows/own.yml" in told
    assert "notes.txt" in overridden.results("player", 2)[0]
    assert "own.yml" not in overridden.results("player", 2)[0]
    assert ".github/workflows/own.yml" in overridden.pull.body.partition("Look at this first")[2]


def test_the_next_turn_is_approved_once_the_rules_hold(overridden: World) -> None:
    (step,) = overridden.steps
    assert (step.outputs["result"], step.outputs["turns"]) == ("approved", "2")
    assert overridden.reviews[1].startswith("### Approved, turn 2 of 5\n")
    assert overridden.status(1)[0] == "success"
    assert overridden.pull.draft is False


# --- what a person set up ---------------------------------------------------------------------------

SUITE = """\
import os, pathlib, sys
import calc

NO = '<failure message="no"/>'
results = {"old": NO, "add": "" if calc.add(1, 2) == 3 else NO}
cases = "".join(f'<testcase classname="suite" name="{name}">{result}</testcase>' for name, result in results.items())
pathlib.Path(os.environ["AUTOBUILD_JUNIT"]).write_text(f"<testsuite>{cases}</testsuite>")
sys.exit(1)
"""
"""Its test ``old`` fails whatever anybody does."""


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A set-up command whose files the checks need; one test fails from the start, and JUnit says which."""
    config = (
        "setup-command: mkdir deps node_modules; echo made | tee deps/tool node_modules/lib; echo warm > $HOME/cache\n"
        "checks:\n"
        "  - name: tests\n"
        '    command: test -f deps/tool && python3 suite.py "$AUTOBUILD_JUNIT"\n'
        "  - name: lint\n"
        "    command: grep -q warm $HOME/cache\n"
        "  - name: wishes\n"
        "    command: 'false'\n"
        "    required: false\n"
    )
    player = plays(
        bash("cat deps/tool node_modules/lib $HOME/cache; echo forged > node_modules/lib"),
        read("calc.py"),
        write("calc.py", SUB),
        report(),
    )
    coach = plays(
        run("cat deps/tool node_modules/lib"),
        verdict("approve", met(1, evidence("check", "tests"), evidence("run", "R1"))),
    )
    with world(
        tmp_path_factory.mktemp("set_up"),
        files={**CALC, "suite.py": SUITE},
        config=config,
        player=[player],
        coach=[coach],
    ) as it:
        it.label()
        it.check()
        yield it


def test_what_the_setup_command_made_is_there_for_all_and_committed_by_nobody(set_up: World) -> None:
    assert set_up.steps[0].outputs["result"] == "approved"
    assert set_up.results("player", 1)[0].split()[:3] == ["made", "made", "warm"]
    assert set_up.results("coach", 1)[0].splitlines()[1:3] == ["made", "made"], "what a Player did to it is gone"
    checks = {check["name"]: check for check in posted_json(set_up.reviews[0])["evidence"]["checks"]}
    assert checks["lint"]["result"] == "passed"
    assert sorted(set_up.files()) == sorted(set_up.repo.files_at("main"))


def test_a_test_that_failed_before_is_not_charged_to_the_player(set_up: World) -> None:
    checks = {check["name"]: check for check in posted_json(set_up.reviews[0])["evidence"]["checks"]}
    assert checks["tests"]["result"] == "failed"
    assert checks["tests"]["counts"]["failures"] == ["suite::old"]
    assert set_up.reviews[0].startswith("### Approved, turn 1 of 5\n")
    assert "failed before" in set_up.reviews[0].partition("<details>")[0]


def test_a_check_that_is_not_required_is_shown_and_stops_nothing(set_up: World) -> None:
    checks = {check["name"]: check for check in posted_json(set_up.reviews[0])["evidence"]["checks"]}
    assert (checks["wishes"]["required"], checks["wishes"]["result"]) == (False, "failed")
    assert "wishes" in set_up.said[0]


def test_without_a_check_the_run_stops_before_any_model_call_with_advice(tmp_path: Path) -> None:
    with world(tmp_path, files={"README.md": "# calc\n", "calc.py": ADD}) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "failed", "environment")
        assert it.said[1].startswith("### Failed: something the run needs is missing\n")
        assert "No check was found" in it.said[1]
        assert "`check-command: none`" in it.said[1]
        assert it.model.requests == []
        assert it.labels == ["autobuild", "autobuild:blocked"]


def test_without_a_check_and_without_isolation_by_name_both_are_said(tmp_path: Path) -> None:
    with world(tmp_path, files={"calc.py": BROKEN}, player=[builds()], coach=[approves()]) as it:
        step = it.label(inputs={"check-command": "none", "isolation": "none"})
        it.check()
        assert step.outputs["result"] == "approved"
        assert "This project has no check: nothing was measured." in it.asked("coach")[0].text
        assert "no check" in it.pull.body.lower()
        assert "no check" in it.reviews[0].partition("<details>")[0].lower()
        assert (
            "**`none`**: sessions and checks ran without isolation" in it.pull.body.partition("Look at this first")[2]
        )


# --- source that nobody here wrote ------------------------------------------------------------------

PACKAGE = "pathspec==0.12.1"
SDISTS = "AUTOBUILD_TEST_SDISTS"
"""A folder to keep the download in; without it, every session of tests asks the package index."""


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a small package with its own tests, as its authors published it."""
    folder = Path(os.environ.get(SDISTS) or tmp_path_factory.mktemp("sdists"))
    archive = folder / f"{PACKAGE.replace('==', '-')}.tar.gz"
    if not archive.exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
        asked = [*pip, "--no-binary", ":all:", "--no-deps", "--dest", str(folder), PACKAGE]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert archive.exists(), (
            f"the package index gave no {PACKAGE}; set {SDISTS} to a folder that has it:\n{done.stderr}"
        )
    with tarfile.open(archive) as opened:
        members = [member for member in opened if member.isfile()]
        contents = {member.name.partition("/")[2]: opened.extractfile(member) for member in members}
        return {path: file.read() for path, file in contents.items() if file}


def test_a_package_from_the_index_is_broken_and_mended_under_its_own_tests(
    tmp_path: Path, foreign: dict[str, bytes]
) -> None:
    path = "pathspec/util.py"
    right = foreign[path].decode()
    added = "\n\ndef is_hidden(name: str) -> bool:\n\treturn name.startswith('.')\n"
    wrong = right.replace("norm_file = norm_file[2:]", "norm_file = norm_file[1:]") + added
    assert right + added != wrong
    body = "## Acceptance criteria\n\n- [ ] `pathspec.util.is_hidden(name)` says whether a name begins with a dot\n"
    files: dict[str, str | bytes] = {**foreign}
    with world(
        tmp_path,
        files=files,
        title="Tell hidden files",
        body=body,
        config=f"check-command: {UNITTEST}\nmax-turns: 2\n",
        player=[
            plays(read(path), write(path, wrong), report()),
            plays(read(path), write(path, right + added), bash(UNITTEST), report()),
        ],
        coach=[
            plays(verdict("approve", met(1, evidence("file", f"{path}:1")))),
            plays(
                run("python3 -c 'from pathspec.util import is_hidden; print(is_hidden(\".git\"))'"),
                verdict("approve", met(1, evidence("run", "R1"), evidence("check", "tests"))),
            ),
        ],
    ) as it:
        step = it.label()
        it.check()
        assert (step.outputs["result"], step.outputs["turns"]) == ("approved", "2")
        first, second = (posted_json(review) for review in it.reviews)
        assert [(turn["decision"], turn["evidence"]["checks"][0]["result"]) for turn in (first, second)] == [
            ("feedback", "failed"),
            ("approve", "passed"),
        ]
        assert "Ran 119 tests" in second["evidence"]["checks"][0]["output"]
        assert second["evidence"]["ledger"][0]["output"] == "True\n"
        assert second["evidence"]["diff"] == {"files": 1, "insertions": 4, "deletions": 0}
        assert sorted(it.files()) == sorted(it.repo.files_at("main"))

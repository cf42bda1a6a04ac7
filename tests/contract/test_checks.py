"""Checks as they run on real checkouts in a real sandbox: what passes, what fails, what cannot be told."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autobuild_action.adapters.checks import Checks
from autobuild_action.adapters.git import Git
from autobuild_action.adapters.sandbox import HostSandbox
from autobuild_action.adapters.workspace import Workspace
from autobuild_action.evidence import LARGEST_JUNIT
from autobuild_action.model import (
    AuditResult,
    Baseline,
    Check,
    CheckResult,
    CheckRun,
    Committed,
    Counts,
    Decided,
    Decision,
    Level,
    Measure,
    Measured,
    PlayerEnded,
    Report,
    Role,
    TestClaim,
    Weigh,
)
from tests.support import build
from tests.support.repos import AUTHOR, ROOT, bare, commit

if TYPE_CHECKING:
    from autobuild_action.journal import Journal

JUNIT = """<testsuites><testsuite name="s">{cases}</testsuite></testsuites>"""
GREEN, RED, SKIPPED = (
    '<testcase classname="c" name="green"/>',
    '<testcase classname="c" name="red"><failure message="no"/></testcase>',
    '<testcase classname="c" name="skipped"><skipped/></testcase>',
)


class Place:
    def __init__(self, folder: Path, level: Level) -> None:
        self.folder = folder
        self.git: Git = bare(folder / "git")
        self.workspace = Workspace(self.git, folder / "trees", AUTHOR)
        self.sandbox = HostSandbox(folder / "box", level)
        self.said: list[str] = []
        self.remote_head: str | None = None
        self.base = commit(self.git, {"calc.py": "x = 1\n", "README.md": "# calc\n"})

    def checks(self, *checks: Check) -> Checks:
        return Checks(checks, self.workspace, self.sandbox, remote_head=lambda: self.remote_head, say=self.said.append)

    def run(self, command: str, *, name: str = "tests", seconds: int = 60) -> CheckRun:
        [run] = self.checks(Check(name=name, command=command, seconds=seconds)).run_all(self.base)
        return run

    def judged(self, command: str) -> tuple[CheckResult, str]:
        run = self.run(command)
        return run.result, run.why


@pytest.fixture(params=[Level.NONE, pytest.param(Level.UID, marks=pytest.mark.skipif(not ROOT, reason="needs root"))])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="autobuild-test-"))
    folder.chmod(0o711)
    yield Place(folder, request.param)
    assert list((folder / "box").iterdir()) == [], "nothing of a session is left"
    subprocess.run(["rm", "-rf", folder], check=True)


def writes(*cases: str) -> str:
    """A command that leaves this JUnit report."""
    return f"echo '{JUNIT.format(cases=''.join(cases))}' >\"$AUTOBUILD_JUNIT\""


class TestResults:
    def test_the_exit_status_decides(self, place: Place) -> None:
        assert place.judged("true") == (CheckResult.PASSED, "exit 0")
        assert place.judged("echo why; exit 3") == (CheckResult.FAILED, "exit 3")

    def test_what_cannot_run_is_absent(self, place: Place) -> None:
        for command, words in (
            ("no-such-program-anywhere", "exit 127: the command could not be started"),
            ("./README.md", "exit 126: the command could not be started"),
            ("kill -9 $$", "killed"),
        ):
            assert place.judged(command) == (CheckResult.ABSENT, words)

    def test_what_does_not_end_is_absent(self, place: Place) -> None:
        run = place.run("echo begun; sleep 1000", seconds=1)
        assert (run.result, run.exit_code, run.output) == (CheckResult.ABSENT, None, "begun\n")
        assert run.why.startswith("not over after")

    def test_a_junit_report_is_counted_and_outranks_the_exit_status(self, place: Place) -> None:
        assert place.judged(writes(GREEN, SKIPPED)) == (CheckResult.PASSED, "exit 0, 1 of 1 tests passed")
        run = place.run(writes(GREEN, RED))
        assert (run.result, run.why) == (CheckResult.FAILED, "exit 0, 1 of 2 tests passed")
        assert run.counts == Counts(run=2, failed=1, skipped=0, failures=("c::red",))

    def test_no_test_or_no_report_where_one_was_asked_for_is_absent(self, place: Place) -> None:
        for command, words in (
            (writes(), "exit 0, but no test ran"),
            (writes(SKIPPED), "exit 0, but no test ran"),
            ('true "$AUTOBUILD_JUNIT"', "exit 0, but no JUnit report where one was asked for"),
            ('echo nonsense >"$AUTOBUILD_JUNIT"', "exit 0, but no JUnit report where one was asked for"),
        ):
            assert place.judged(command) == (CheckResult.ABSENT, words)

    @pytest.mark.parametrize(
        "leave",
        [
            'ln -s "$PWD/made.xml" "$AUTOBUILD_JUNIT"',
            'mkfifo "$AUTOBUILD_JUNIT"',
            'mkdir "$AUTOBUILD_JUNIT"',
            f'cat made.xml >"$AUTOBUILD_JUNIT"; truncate -s {LARGEST_JUNIT + 1} "$AUTOBUILD_JUNIT"',
        ],
        ids=["link", "pipe", "folder", "too large"],
    )
    def test_a_report_that_is_no_file_of_reasonable_size_is_none(self, place: Place, leave: str) -> None:
        """H-60: as the product's code may leave it."""
        made = f"echo '{JUNIT.format(cases=GREEN)}' >made.xml; {leave}"
        assert place.judged(made) == (CheckResult.ABSENT, "exit 0, but no JUnit report where one was asked for")

    def test_a_report_at_another_place_has_no_effect(self, place: Place) -> None:
        forge = f"mkdir -p reports; echo '{JUNIT.format(cases=GREEN)}' | tee junit.xml reports/junit.xml"
        assert place.run(forge).counts is None

    def test_long_output_is_kept_head_and_tail(self, place: Place) -> None:
        output = place.run("seq 1 50000; exit 1").output
        assert (output[:4], output[-6:]) == ("1\n2\n", "50000\n")
        assert len(output) < 31_000


class TestWhere:
    def test_every_check_has_a_clean_checkout_of_the_commit(self, place: Place) -> None:
        mess = 'echo x >left; echo x >calc.py; rm README.md; echo x >"$HOME/left"; echo x >"$TMPDIR/left"'
        look = 'cat calc.py README.md; ls; ls -A "$HOME" "$TMPDIR" | grep left'
        first, second, third = place.checks(
            Check(name="first", command=mess), Check(name="second", command=look), Check(name="third", command=look)
        ).run_all(place.base)
        assert first.exit_code == 0
        assert second.output == third.output == "x = 1\n# calc\nREADME.md\ncalc.py\n"

    def test_a_check_sees_its_commit_and_no_other(self, place: Place) -> None:
        head = commit(place.git, {"calc.py": "x = 2\n"}, place.base)
        checks = place.checks(Check(name="tests", command="cat calc.py; ls README.md"))
        assert [run.output.splitlines()[0] for run in checks.run_all(head)] == ["x = 2"]
        assert [run.exit_code for run in checks.run_all(place.base)] == [0]

    def test_it_knows_that_it_is_checked_and_nothing_of_us(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "secret-value")
        output = place.run("env").output
        assert "CI=true\n" in output
        assert "secret-value" not in output

    def test_the_shells_own_words_are_the_projects(self, place: Place) -> None:
        run = place.run("""x='a b'; for y in "$x" "it's"; do echo "<$y>"; done && exit 4""")
        assert (run.exit_code, run.output) == (4, "<a b>\n<it's>\n")

    @pytest.mark.parametrize("name", ["unit tests", "-x", ".", "..", "x" * 60])
    def test_its_name_may_be_whatever_the_configuration_takes(self, place: Place, name: str) -> None:
        run = place.run("pwd", name=name)
        assert (run.name, run.result) == (name, CheckResult.PASSED)

    def test_people_are_told_what_runs_and_what_came_of_it(self, place: Place) -> None:
        place.run("exit 2")
        assert place.said == ["check `tests`: exit 2", "check `tests` failed: exit 2"]


class TestEvidence:
    def test_a_turn_is_measured_on_its_commit(self, place: Place) -> None:
        head = commit(place.git, {"calc.py": "x = 2\ny = 3\n", "README.md": "# calc\n"}, place.base)
        claims = (
            TestClaim(command="grep -q 2 calc.py", result=CheckResult.PASSED),
            TestClaim(command="pytest", result=CheckResult.PASSED),
        )
        journal = played(place.base, head, claims)
        checks = place.checks(Check(name="tests", command="grep -q 2 calc.py"))
        [fact] = checks.measure(journal, Measure(turn=1, commit=head))
        assert isinstance(fact, Measured)
        assert (fact.turn, fact.commit, [run.result for run in fact.checks]) == (1, head, [CheckResult.PASSED])
        assert (fact.diff.files, fact.diff.insertions, fact.diff.deletions) == (1, 2, 1)
        assert [row.result for row in fact.audit] == [AuditResult.CONFIRMED, AuditResult.CONTRADICTED]

    @pytest.mark.parametrize("moved", [True, False])
    def test_a_verdict_is_weighed_against_the_remote_head(self, place: Place, moved: bool) -> None:  # noqa: FBT001  a case
        head = build.sha(1)
        place.remote_head = build.sha(2) if moved else head
        journal = build.journal(build.started(), Baseline(checks=(build.check(),)), *build.approve_turn(1)[:-1])
        [fact] = place.checks().weigh(journal, Weigh(turn=1, commit=head))
        assert isinstance(fact, Decided)
        assert {rule.name: rule.held for rule in fact.rules}["remote-head"] is not moved
        assert (fact.decision is Decision.APPROVE) is not moved

    def test_nothing_is_weighed_before_it_was_measured_and_judged(self, place: Place) -> None:
        journal = build.journal(build.started(), build.player(1), build.committed(1))
        with pytest.raises(ValueError, match="measured and judged"):
            place.checks().weigh(journal, Weigh(turn=1, commit=build.sha(1)))


def played(base: str, head: str, claims: tuple[TestClaim, ...]) -> Journal:
    """One turn whose Player claims this, having run the first of the commands."""
    report = Report(summary="Done.", criteria=(), tests_run=claims)
    session = build.session(Role.PLAYER, 1)
    ended = PlayerEnded(turn=1, session=session, report=report, commands=(claims[0].command,))
    return build.journal(
        replace(build.started(), base_commit=base, start_commit=base),
        ended,
        Committed(turn=1, commit=head, tree=head),
    )

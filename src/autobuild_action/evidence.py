"""Evidence: what the end of a command means, and what the Player's claims are worth beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, JUnitXmlError, Skipped, TestCase

from autobuild_action.model import AuditResult, AuditRow, CheckResult, CheckRun, Counts
from autobuild_action.ports import EndedBy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autobuild_action.model import Check, Report
    from autobuild_action.ports import Ended

JUNIT_VARIABLE = "AUTOBUILD_JUNIT"
LARGEST_JUNIT = 20 * 2**20
MOST_FAILURES = 200
NOT_RUNNABLE = (126, 127)


def counts(xml: bytes | None) -> Counts | None:
    """What a JUnit report says, None where there is none that can be read; names are ``class::test``."""
    if not xml or len(xml) > LARGEST_JUNIT or b"<!DOCTYPE" in xml[:1000]:
        return None
    try:
        cases = list(_cases(JUnitXml.fromstring(xml)))
    except (JUnitXmlError, ValueError, SyntaxError, AttributeError, LookupError, RecursionError):
        return None  # the Player may write it: an unknown encoding, suites in suites without end
    failed = [case for case in cases if any(isinstance(result, (Failure, Error)) for result in case.result)]
    skipped = [case for case in cases if any(isinstance(result, Skipped) for result in case.result)]
    names = sorted({f"{case.classname or ''}::{case.name or ''}"[:300] for case in failed})
    return Counts(
        run=len(cases) - len(skipped),
        failed=len(failed),
        skipped=len(skipped),
        failures=tuple(names[:MOST_FAILURES]),
    )


def _cases(element: object) -> Iterator[TestCase]:
    if isinstance(element, TestCase):
        yield element
    else:
        for child in element:  # type: ignore[attr-defined]  # suites and suites of suites iterate over their parts
            yield from _cases(child)


def check_run(check: Check, ended: Ended, xml: bytes | None) -> CheckRun:
    """What one run of a check came to: three values (docs/design.md, "Checks")."""
    found = counts(xml)
    result, why = _result(check, ended, found)
    return CheckRun(
        name=check.name,
        command=check.command,
        required=check.required,
        result=result,
        why=why,
        exit_code=ended.exit_code,
        seconds=ended.seconds,
        output=ended.output,
        counts=found,
    )


def _result(check: Check, ended: Ended, found: Counts | None) -> tuple[CheckResult, str]:
    if ended.ended_by is not EndedBy.EXIT or ended.exit_code is None:
        return CheckResult.ABSENT, _ended_words(ended)
    if ended.exit_code in NOT_RUNNABLE:
        return CheckResult.ABSENT, f"exit {ended.exit_code}: the command could not be started"
    if JUNIT_VARIABLE in check.command and found is None:
        return CheckResult.ABSENT, f"exit {ended.exit_code}, but no JUnit report where one was asked for"
    if found and found.run == 0:
        return CheckResult.ABSENT, f"exit {ended.exit_code}, but no test ran"
    tests = f", {found.run - found.failed} of {found.run} tests passed" if found else ""
    green = ended.exit_code == 0 and not (found and found.failed)
    return CheckResult.PASSED if green else CheckResult.FAILED, f"exit {ended.exit_code}{tests}"


def _ended_words(ended: Ended) -> str:
    words = {
        EndedBy.DEADLINE: f"not over after {ended.seconds:.0f} s",
        EndedBy.MEMORY: "killed for its use of memory",
        EndedBy.OUTPUT: "killed for the amount of its output",
    }
    return words.get(ended.ended_by, "killed")


def unusable(run: CheckRun) -> bool:
    """True where the check cannot run here at all, so that no turn could ever pass it."""
    return run.exit_code is None or run.exit_code in NOT_RUNNABLE


# --- the audit of claims ----------------------------------------------------------------------------

WRAPPERS = {
    "uv",
    "run",
    "poetry",
    "pipenv",
    "npx",
    "env",
    "exec",
    "time",
    "bash",
    "sh",
    "sudo",
    "timeout",
}
"""Words before the program; what is no word, an option or a setting is passed over anyway."""
SETTINGS = {"cd", "export", "set", "source", "."}
"""Commands that only prepare for the next one."""
_NO_PROGRAM = re.compile(r"-.*|\d.*|.*=.*|python[\d.]*")


def audit(report: Report | None, commands: Sequence[str], runs: Sequence[CheckRun]) -> tuple[AuditRow, ...]:
    """The Player's claims about tests beside the commands of its session and our own checks.

    Only what can be proved is contradicted: a command of which the session shows no trace, or a "passed" for the
    very command that fails as a check.
    """
    if report is None:
        claim = "a structured report"
        return (AuditRow(claim=claim, measured="the session gave none", result=AuditResult.UNPROVED),)
    return tuple(_row(claim.command, claim.result, commands, runs) for claim in report.tests_run)


def _row(command: str, claimed: CheckResult, commands: Sequence[str], runs: Sequence[CheckRun]) -> AuditRow:
    claim = f"`{command}` {claimed}"
    check = next((run for run in runs if _squeezed(run.command) == _squeezed(command)), None)
    if not any(_traces(command, executed) for executed in commands):
        return AuditRow(claim=claim, measured="the session ran no such command", result=AuditResult.CONTRADICTED)
    if check is None or check.result is CheckResult.ABSENT:
        return AuditRow(claim=claim, measured="no check measures just this", result=AuditResult.UNPROVED)
    false = claimed is CheckResult.PASSED and check.result is CheckResult.FAILED
    unlike = AuditResult.CONTRADICTED if false else AuditResult.UNPROVED
    result = AuditResult.CONFIRMED if check.result is claimed else unlike
    return AuditRow(claim=claim, measured=f"the check `{check.name}` {check.result}: {check.why}", result=result)


def _traces(claimed: str, executed: str) -> bool:
    """True where an executed command line holds the claimed one, or at least a program of it."""
    if _squeezed(claimed) in _squeezed(executed):
        return True
    return any(program in executed for part in re.split(r"[;&|\n]+", claimed) if (program := _program(part)))


def _program(command: str) -> str:
    """The program that a simple command runs, without its folder."""
    words = re.sub(r"""['"()]""", " ", command).split()
    if not words or words[0] in SETTINGS:
        return ""
    names = (word.rstrip("/").rpartition("/")[2] for word in words if "=" not in word)
    return next((name for name in names if name and name not in WRAPPERS and not _NO_PROGRAM.fullmatch(name)), "")


def _squeezed(command: str) -> str:
    return " ".join(command.split())

"""Facts with what the tests of the core vary: sessions that fail, commits in dispute, checks of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autobuild_action.model import (
    CheckResult,
    CheckRun,
    Claim,
    ClaimStatus,
    Counts,
    CriterionStatus,
    Dispute,
    EvidenceKind,
    EvidenceRef,
    Judged,
    PlayerEnded,
    Report,
    Role,
    Ruling,
    TestClaim,
    Unchanged,
    Verdict,
)
from tests.support import build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autobuild_action.model import Attempt, AttemptStarted, Fact, PullRequestMode, Why


def attempt(*facts: Fact, start: AttemptStarted | None = None) -> Attempt:
    """An attempt of these facts."""
    return build.journal(start or build.started(), *facts).attempt


def started(
    number: int = 1,
    *,
    max_turns: int = 5,
    budget: float = 10.0,
    mode: PullRequestMode | None = None,
    guidance: str = "",
) -> AttemptStarted:
    """The start of an attempt with these limits."""
    made = build.started(number, max_turns=max_turns)
    limits = replace(made.limits, budget_usd=budget)
    return replace(made, limits=limits, pull_request=mode or made.pull_request, guidance=guidance)


def coached(  # noqa: PLR0913  a builder names everything a test may care for
    turn: int,
    verdict: Verdict | None = None,
    *,
    commit: str | None = None,
    why: Why | None = None,
    faults: Iterable[str] = (),
    detail: str = "",
    cost: float = 0.1,
) -> Judged:
    """A Coach session that ended in this way."""
    session = build.session(Role.COACH, turn, cost=cost, why=why, detail=detail)
    made = build.judged(turn, verdict, faults=faults)
    return replace(made, session=session, commit=commit or made.commit)


def claiming(turn: int, *tests: TestClaim, claims: Iterable[Claim] = (), disputes: Iterable[Dispute] = ()) -> Fact:
    """A Player that reports these claims."""
    report = Report(
        summary="Added the option.", criteria=tuple(claims), tests_run=tests, disputed=tuple(disputes), concerns=()
    )
    made: PlayerEnded = replace(build.player(turn), report=report)
    return made


def claim(id_: str, said: ClaimStatus = ClaimStatus.DONE, note: str = "") -> Claim:
    """A claim about one criterion."""
    return Claim(id=id_, claim=said, note=note)


def said(command: str, result: CheckResult = CheckResult.PASSED) -> TestClaim:
    """A claim about one test command."""
    return TestClaim(command=command, result=result)


def dispute(issue: str = "I1.1.1", reason: str = "The contract asks for exit code 2.") -> Dispute:
    """An issue that the Player holds to be wrong."""
    return Dispute(issue=issue, reason=reason)


def disputing(turn: int, commit: str | None) -> Unchanged:
    """A turn without a change, but with a dispute."""
    return Unchanged(turn=turn, commit=commit, disputes=(dispute(),))


def run(
    result: CheckResult,
    *failures: str,
    name: str = "tests",
    required: bool = True,
    counted: bool = True,
) -> CheckRun:
    """A check's result; ``counted`` says whether there was a JUnit report."""
    counts = Counts(run=20, failed=len(failures), skipped=0, failures=failures)
    made = build.check(result, name=name, required=required, failures=failures)
    return replace(made, counts=counts if counted else None)


def met(id_: str, *refs: EvidenceRef) -> Ruling:
    """A criterion that is met, by a check that passed where nothing else is named."""
    return Ruling(id=id_, status=CriterionStatus.MET, evidence=refs or (ref(EvidenceKind.CHECK, "tests"),))


def ref(kind: EvidenceKind, to: str) -> EvidenceRef:
    """A piece of evidence."""
    return EvidenceRef(kind=kind, ref=to)

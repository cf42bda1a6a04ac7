"""The gate: the rules that turn a verdict and the evidence into a decision; it can only say no.

Every rule has an owner (docs/design.md, "A run"). A broken rule of the Coach's means that there is no verdict
(:func:`faults`); one of the Player's becomes feedback, one of the world's ends the attempt (:func:`weigh`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autobuild_action.evidence import MOST_FAILURES
from autobuild_action.model import (
    AuditResult,
    Category,
    CheckResult,
    CriterionStatus,
    Decided,
    Decision,
    EvidenceKind,
    Issue,
    Owner,
    PreviousStatus,
    Rule,
    Severity,
    Strictness,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autobuild_action.model import (
        Attempt,
        Baseline,
        CheckRun,
        EvidenceRef,
        LedgerEntry,
        Measured,
        Task,
        Turn,
        Verdict,
    )


# --- the Coach's rules ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a verdict is held against.

    ``lines`` has the number of lines of every cited file that exists at the judged commit; ``touched`` is true
    where the checkout the Coach was given is not what it was, ``strict`` where a ``should_fix`` blocks too.
    """

    task: Task
    open_issues: tuple[Issue, ...]
    checks: tuple[CheckRun, ...]
    baseline: Baseline | None
    ledger: tuple[LedgerEntry, ...]
    lines: Mapping[str, int]
    touched: bool = False
    strict: bool = False


def faults(verdict: Verdict, record: Record) -> tuple[str, ...]:
    """Every rule of the Coach's that the verdict breaks, in words a Coach can act on; empty: it counts."""
    return tuple(_faults(verdict, record))


def _faults(verdict: Verdict, record: Record) -> Iterator[str]:
    if record.touched:
        yield "The checkout was changed during the review."
    yield from _criteria_faults(verdict, record.task)
    yield from _previous_faults(verdict, record)
    if verdict.decision is Decision.APPROVE:
        yield from _approval_faults(verdict, record)
    elif not verdict.issues and all(ruling.status is CriterionStatus.MET for ruling in verdict.criteria):
        yield "`feedback` needs at least one issue or a criterion that is not met."


def _criteria_faults(verdict: Verdict, task: Task) -> Iterator[str]:
    given = Counter(ruling.id for ruling in verdict.criteria)
    known = {criterion.id for criterion in task.criteria}
    for id_ in sorted(known, key=_number):
        if given[id_] != 1:
            yield f"Criterion {id_} is answered {given[id_]} times; answer each exactly once."
    yield from (f"There is no criterion {id_}." for id_ in sorted(given.keys() - known))


def _number(id_: str) -> int:
    return int(id_.removeprefix("AC-"))


def _previous_faults(verdict: Verdict, record: Record) -> Iterator[str]:
    known = {issue.id for issue in record.open_issues}
    answered = Counter(answer.issue for answer in verdict.previous)
    yield from (f"Say in `previous` what became of {id_}." for id_ in sorted(known - answered.keys()))
    yield from (f"There is no open issue {id_}." for id_ in sorted(answered.keys() - known))
    yield from (f"Answer {id_} in `previous` once, not {times} times." for id_, times in answered.items() if times > 1)
    if verdict.decision is Decision.APPROVE:
        blocking = (Severity.MUST_FIX, Severity.SHOULD_FIX) if record.strict else (Severity.MUST_FIX,)
        left = {answer.issue for answer in verdict.previous if answer.status is PreviousStatus.OPEN}
        for issue in record.open_issues:
            if issue.id in left and issue.severity in blocking:
                yield f"`approve` beside {issue.id}, a {issue.severity} that is still open."


def _approval_faults(verdict: Verdict, record: Record) -> Iterator[str]:
    for ruling in verdict.criteria:
        if ruling.status is not CriterionStatus.MET:
            yield f"`approve` beside criterion {ruling.id}, which is {ruling.status}."
        elif not ruling.evidence:
            yield f"Criterion {ruling.id} is `met` without evidence."
        for ref in ruling.evidence:
            if not resolves(ref, record):
                yield f"The evidence `{ref.kind}: {ref.ref}` of {ruling.id} does not resolve."


def resolves(ref: EvidenceRef, record: Record) -> bool:
    """True where the reference points at something real (docs/design.md, "Evidence references")."""
    match ref.kind:
        case EvidenceKind.FILE:
            return _line_exists(ref.ref, record.lines)
        case EvidenceKind.CHECK:
            return any(run.name == ref.ref and passed(run, record.baseline) for run in record.checks)
        case EvidenceKind.RUN:
            return any(entry.id == ref.ref and entry.exit_code is not None for entry in record.ledger)


def cited_path(ref: EvidenceRef) -> str | None:
    """The path that a reference of kind ``file`` names."""
    return ref.ref.rpartition(":")[0] or None if ref.kind is EvidenceKind.FILE else None


def _line_exists(ref: str, lines: Mapping[str, int]) -> bool:
    path, _, place = ref.rpartition(":")
    first, _, last = place.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        return False
    return 1 <= int(first) <= int(last or first) <= lines.get(path, 0)


# --- the Player's and the world's rules -------------------------------------------------------------


def weigh(attempt: Attempt, turn: Turn, verdict: Verdict, measured: Measured, *, remote_head: str | None) -> Decided:
    """The decision on a turn: `approve` only if the verdict says so and every rule holds."""
    player = tuple(_player_rules(attempt, turn, verdict, measured))
    world = Rule(
        name="remote-head",
        owner=Owner.WORLD,
        held=remote_head == measured.commit,
        detail="" if remote_head == measured.commit else f"the branch is at {remote_head or 'nothing'}",
    )
    rules = (*player, world)
    approve = verdict.decision is Decision.APPROVE and all(rule.held for rule in rules)
    return Decided(
        turn=turn.number,
        decision=Decision.APPROVE if approve else Decision.FEEDBACK,
        rules=rules,
        issues=tuple(_gate_issue(attempt, turn, rule) for rule in player if not rule.held and rule.name in _CATEGORY),
    )


_CATEGORY = {
    "checks": Category.TEST_FAILURE,
    "refused-paths": Category.SECURITY,
    "claims": Category.OTHER,
    "diff": Category.MISSING_REQUIREMENT,
}
"""The rules whose breach the gate turns into an issue of its own; the others repeat the verdict's issues."""


_ASKED = {
    "checks": "A required check does not pass:",
    "refused-paths": "These paths are not taken from an agent, so leave them alone:",
    "claims": "The report says more than was done. Run what you report, or leave it out:",
    "diff": "There is nothing to approve:",
}
"""What the gate asks for where it adds an issue."""


def _player_rules(attempt: Attempt, turn: Turn, verdict: Verdict, measured: Measured) -> Iterator[Rule]:
    yield _rule("checks", _check_faults(measured, attempt.baseline))
    change = turn.change
    refused = change.refused if change else ()
    yield _rule("refused-paths", [f"`{path.path}`: {path.why}" for path in refused])
    yield _rule("diff", [] if measured.diff.files else ["the branch changes nothing against the base"])
    false = [row for row in measured.audit if row.result is AuditResult.CONTRADICTED]
    yield _rule("claims", [f"{row.claim}: {row.measured}" for row in false])
    yield _rule("must-fix", [f"{issue.id} is open" for issue in verdict.must_fix])
    if attempt.started.strictness is Strictness.STRICT:
        should = [issue for issue in verdict.issues if issue.severity is Severity.SHOULD_FIX]
        yield _rule("should-fix", [f"{issue.id} is open" for issue in should])


def _rule(name: str, broken: list[str]) -> Rule:
    return Rule(name=name, owner=Owner.PLAYER, held=not broken, detail="; ".join(broken)[:2000])


def _check_faults(measured: Measured, baseline: Baseline | None) -> list[str]:
    runs = [run for run in measured.checks if run.required and not passed(run, baseline)]
    return [f"`{run.name}` {run.result}: {_why(run, baseline)}" for run in runs]


def _why(run: CheckRun, baseline: Baseline | None) -> str:
    new = new_failures(run, baseline)
    return f"{run.why} ({', '.join(new[:10])})" if new else run.why


def passed(run: CheckRun, baseline: Baseline | None) -> bool:
    """True where the check passed, or fails only in tests that failed before the Player came.

    The latter needs JUnit counts on both sides, and a run that went no shorter way than before.
    """
    if run.result is not CheckResult.FAILED:
        return run.result is CheckResult.PASSED
    before = _before(run, baseline)
    if not (run.counts and run.counts.failures and before and before.counts):
        return False
    whole = len(run.counts.failures) < MOST_FAILURES  # of a list that was cut, the new ones may be left out
    as_before = run.exit_code == before.exit_code and run.counts.run >= before.counts.run
    return whole and as_before and run.counts.failed <= before.counts.failed and not new_failures(run, baseline)


def new_failures(run: CheckRun, baseline: Baseline | None) -> tuple[str, ...]:
    """The failing tests that did not fail on the base commit."""
    before = _before(run, baseline)
    known = set(before.counts.failures) if before and before.counts else set()
    return tuple(name for name in (run.counts.failures if run.counts else ()) if name not in known)


def _before(run: CheckRun, baseline: Baseline | None) -> CheckRun | None:
    return next((base for base in (baseline.checks if baseline else ()) if base.name == run.name), None)


def _gate_issue(attempt: Attempt, turn: Turn, rule: Rule) -> Issue:
    return Issue(
        id=f"G{attempt.number}.{turn.number}.{rule.name}",
        severity=Severity.MUST_FIX,
        category=_CATEGORY[rule.name],
        description=f"{_ASKED[rule.name]} {rule.detail}."[:2000],
    )

"""The gate only says no: an approval needs a verdict that counts and every measured rule at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from autobuild_action import gate
from autobuild_action.evidence import MOST_FAILURES
from autobuild_action.gate import Record
from autobuild_action.model import (
    AuditResult,
    Baseline,
    Category,
    CheckResult,
    CheckRun,
    Committed,
    CriterionStatus,
    Decided,
    Decision,
    DiffStat,
    EvidenceKind,
    Measured,
    Owner,
    Previous,
    PreviousStatus,
    Refused,
    Ruling,
    Severity,
    Strictness,
    Unchanged,
    Verdict,
)
from tests.support import build, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autobuild_action.model import EvidenceRef, Issue

T = TypeVar("T")

CHECK, FILE, RUN = EvidenceKind.CHECK, EvidenceKind.FILE, EvidenceKind.RUN
PASSED, FAILED, ABSENT = CheckResult.PASSED, CheckResult.FAILED, CheckResult.ABSENT
LINES = {"src/weather.py": 40, "a:b.py": 3, "empty.py": 0}
RECORD = Record(
    task=build.task(),
    open_issues=(),
    checks=(build.check(),),
    baseline=None,
    ledger=(build.ledger(1), replace(build.ledger(2), exit_code=1), replace(build.ledger(3), exit_code=None)),
    lines=LINES,
)
NO_FILES = DiffStat(files=0, insertions=0, deletions=0)
WORKFLOW = Refused(path=".github/workflows/ci.yml", why="changed by people only")


def found(verdict: Verdict, record: Record = RECORD) -> tuple[str, ...]:
    return gate.faults(verdict, record)


def approving(*refs: EvidenceRef) -> Verdict:
    """An approval whose first criterion rests on this evidence."""
    rulings = (Ruling(id="AC-1", status=CriterionStatus.MET, evidence=refs), build.ruling("AC-2"), build.ruling("AC-3"))
    return build.verdict(rulings=rulings)


# --- the Coach's rules: each is a fault in words it can act on ----------------------------------------


def test_a_verdict_that_keeps_every_rule_has_no_fault() -> None:
    assert found(build.verdict()) == ()
    assert found(build.feedback()) == ()


def test_a_touched_checkout_is_a_fault() -> None:
    assert found(build.feedback(), replace(RECORD, touched=True)) == ("The checkout was changed during the review.",)


def test_a_criterion_that_is_not_answered_is_a_fault() -> None:
    rulings = (build.ruling("AC-1"), build.ruling("AC-3"))
    assert found(build.verdict(rulings=rulings)) == ("Criterion AC-2 is answered 0 times; answer each exactly once.",)


def test_a_criterion_that_is_answered_twice_is_a_fault() -> None:
    rulings = (*build.verdict().criteria, build.ruling("AC-3"))
    assert found(build.verdict(rulings=rulings)) == ("Criterion AC-3 is answered 2 times; answer each exactly once.",)


def test_missing_criteria_are_named_in_their_order() -> None:
    task = build.task(criteria=[f"thing {n}" for n in range(1, 11)])
    rulings = tuple(build.ruling(f"AC-{n}") for n in (1, 3, 4, 5, 6, 7, 8, 9))
    assert [fault.split()[1] for fault in found(build.verdict(rulings=rulings), replace(RECORD, task=task))] == [
        "AC-2",
        "AC-10",
    ]


def test_a_criterion_that_does_not_exist_is_a_fault() -> None:
    rulings = (*build.verdict().criteria, build.ruling("AC-4"))
    assert found(build.verdict(rulings=rulings)) == ("There is no criterion AC-4.",)


def test_an_open_issue_without_an_answer_is_a_fault() -> None:
    record = replace(RECORD, open_issues=(build.issue(id_="I1.1.1"), build.issue(id_="I1.1.2")))
    answered = Previous(issue="I1.1.2", status=PreviousStatus.OPEN)
    assert found(replace(build.feedback(), previous=(answered,)), record) == (
        "Say in `previous` what became of I1.1.1.",
    )


def test_an_answer_on_an_issue_that_is_not_open_is_a_fault() -> None:
    answered = Previous(issue="I1.1.9", status=PreviousStatus.RESOLVED)
    assert found(build.verdict(previous=[answered])) == ("There is no open issue I1.1.9.",)


@pytest.mark.parametrize(
    ("severity", "status", "faults"),
    [
        (Severity.MUST_FIX, PreviousStatus.OPEN, ("`approve` beside I1.1.1, a must_fix that is still open.",)),
        (Severity.MUST_FIX, PreviousStatus.RESOLVED, ()),
        (Severity.MUST_FIX, PreviousStatus.WITHDRAWN, ()),
        (Severity.SHOULD_FIX, PreviousStatus.OPEN, ()),
        (Severity.NICE_TO_HAVE, PreviousStatus.OPEN, ()),
    ],
)
def test_an_approval_beside_an_earlier_must_fix_that_is_open_is_a_fault(
    severity: Severity, status: PreviousStatus, faults: tuple[str, ...]
) -> None:
    record = replace(RECORD, open_issues=(build.issue(id_="I1.1.1", severity=severity),))
    assert found(build.verdict(previous=[Previous(issue="I1.1.1", status=status)]), record) == faults


def test_feedback_may_leave_an_earlier_must_fix_open() -> None:
    record = replace(RECORD, open_issues=(build.issue(id_="I1.1.1"),))
    answered = Previous(issue="I1.1.1", status=PreviousStatus.OPEN)
    assert found(replace(build.feedback(), previous=(answered,)), record) == ()


@pytest.mark.parametrize("status", [CriterionStatus.NOT_MET, CriterionStatus.NOT_TESTED])
def test_an_approval_beside_a_criterion_that_is_not_met_is_a_fault(status: CriterionStatus) -> None:
    rulings = (build.ruling("AC-1"), Ruling(id="AC-2", status=status), build.ruling("AC-3"))
    assert found(build.verdict(rulings=rulings)) == (f"`approve` beside criterion AC-2, which is {status.value}.",)


def test_a_criterion_met_without_evidence_is_a_fault_of_an_approval() -> None:
    assert found(approving()) == ("Criterion AC-1 is `met` without evidence.",)


def test_evidence_of_feedback_need_not_resolve() -> None:
    nowhere = Ruling(id="AC-1", status=CriterionStatus.MET, evidence=(facts.ref(FILE, "gone.py:1"),))
    assert found(replace(build.feedback(), criteria=(nowhere, *build.feedback().criteria[1:]))) == ()


def test_one_piece_of_evidence_that_does_not_resolve_is_a_fault_beside_one_that_does() -> None:
    verdict = approving(facts.ref(CHECK, "tests"), facts.ref(FILE, "gone.py:1"))
    assert found(verdict) == ("The evidence `file: gone.py:1` of AC-1 does not resolve.",)


def test_feedback_without_anything_to_do_is_a_fault() -> None:
    rulings = tuple(build.ruling(f"AC-{n}") for n in (1, 2, 3))
    nothing = build.verdict(Decision.FEEDBACK, rulings=rulings)
    assert found(nothing) == ("`feedback` needs at least one issue or a criterion that is not met.",)
    assert found(replace(nothing, issues=(build.issue(severity=Severity.NICE_TO_HAVE),))) == ()
    assert found(replace(nothing, criteria=(*rulings[:2], build.ruling("AC-3", CriterionStatus.NOT_TESTED)))) == ()


def test_all_faults_are_named_at_once() -> None:
    rulings = (Ruling(id="AC-1", status=CriterionStatus.NOT_MET), facts.met("AC-2", facts.ref(RUN, "R9")))
    verdict = build.verdict(rulings=rulings, previous=[Previous(issue="I9", status=PreviousStatus.OPEN)])
    assert found(verdict, replace(RECORD, touched=True, open_issues=(build.issue(id_="I1.1.1"),))) == (
        "The checkout was changed during the review.",
        "Criterion AC-3 is answered 0 times; answer each exactly once.",
        "Say in `previous` what became of I1.1.1.",
        "There is no open issue I9.",
        "`approve` beside criterion AC-1, which is not_met.",
        "The evidence `run: R9` of AC-2 does not resolve.",
    )


@pytest.mark.parametrize(
    ("kind", "to", "real"),
    [
        (FILE, "src/weather.py:1", True),
        (FILE, "src/weather.py:40", True),
        (FILE, "src/weather.py:12-14", True),
        (FILE, "src/weather.py:40-40", True),
        (FILE, "a:b.py:3", True),
        (FILE, "src/weather.py:41", False),
        (FILE, "src/weather.py:39-41", False),
        (FILE, "src/weather.py:14-12", False),
        (FILE, "src/weather.py:0", False),
        (FILE, "src/weather.py:-1", False),
        (FILE, "src/weather.py:x", False),
        (FILE, "src/weather.py:1-x", False),
        (FILE, "src/weather.py:", False),
        (FILE, "src/weather.py", False),
        (FILE, "empty.py:1", False),
        (FILE, "gone.py:1", False),
        (FILE, "12", False),
        (FILE, "", False),
        (CHECK, "tests", True),
        (CHECK, "lint", False),
        (CHECK, "Tests", False),
        (RUN, "R1", True),
        (RUN, "R2", True),  # it failed, and that may be the point: the exit code is on record
        (RUN, "R3", False),
        (RUN, "R4", False),
        (RUN, "1", False),
    ],
)
def test_evidence_resolves_where_it_points_at_something_real(kind: EvidenceKind, to: str, *, real: bool) -> None:
    assert gate.resolves(facts.ref(kind, to), RECORD) is real
    assert (found(approving(facts.ref(kind, to))) == ()) is real


@pytest.mark.parametrize("result", [FAILED, ABSENT])
def test_a_check_that_did_not_pass_proves_nothing(result: CheckResult) -> None:
    assert not gate.resolves(facts.ref(CHECK, "tests"), replace(RECORD, checks=(build.check(result),)))


@pytest.mark.parametrize(
    ("kind", "to", "path"),
    [(FILE, "a:b.py:3", "a:b.py"), (FILE, "x.py", None), (FILE, ":3", None), (CHECK, "a:1", None)],
)
def test_the_cited_path_is_what_stands_before_the_line(kind: EvidenceKind, to: str, path: str | None) -> None:
    assert gate.cited_path(facts.ref(kind, to)) == path


# --- the Player's and the world's rules --------------------------------------------------------------


def weighed(  # noqa: PLR0913  it names what each rule rests on
    measured: Measured | None = None,
    *,
    verdict: Verdict | None = None,
    change: Committed | Unchanged | None = None,
    baseline: Baseline | None = None,
    strictness: Strictness = Strictness.STANDARD,
    head: str | None = "01" * 20,
) -> Decided:
    """The gate's word on turn 1: an approval over green checks, but for what is named."""
    start = build.started(strictness=strictness)
    before = [baseline] if baseline else []
    attempt = facts.attempt(*before, build.player(1), change or build.committed(1), start=start)
    return gate.weigh(
        attempt, attempt.turns[-1], verdict or build.verdict(), measured or build.measured(1), remote_head=head
    )


def broken(decided: Decided) -> dict[str, str]:
    return {rule.name: rule.detail for rule in decided.rules if not rule.held}


def test_an_approval_over_which_every_rule_holds_is_approved() -> None:
    decided = weighed()
    assert decided.decision is Decision.APPROVE
    assert decided.issues == ()
    assert [(rule.name, rule.owner, rule.held) for rule in decided.rules] == [
        ("checks", Owner.PLAYER, True),
        ("refused-paths", Owner.PLAYER, True),
        ("diff", Owner.PLAYER, True),
        ("claims", Owner.PLAYER, True),
        ("must-fix", Owner.PLAYER, True),
        ("remote-head", Owner.WORLD, True),
    ]


def test_feedback_stays_feedback_where_every_rule_holds() -> None:
    decided = weighed(verdict=build.feedback(build.issue(severity=Severity.SHOULD_FIX)))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {}


@pytest.mark.parametrize("result", [FAILED, ABSENT])
def test_a_required_check_that_did_not_pass_is_feedback_with_a_must_fix(result: CheckResult) -> None:
    decided = weighed(build.measured(1, build.check(result)))
    assert decided.decision is Decision.FEEDBACK
    why = {"failed": "exit code 1", "absent": "the command was not found"}[result.value]
    assert broken(decided) == {"checks": f"`tests` {result.value}: {why}"}
    (issue,) = decided.issues
    assert issue.id == "G1.1.checks"
    assert issue.severity is Severity.MUST_FIX
    assert issue.category is Category.TEST_FAILURE
    assert issue.description == f"A required check does not pass: `tests` {result.value}: {why}."


def test_every_required_check_counts_and_an_optional_one_does_not() -> None:
    lint = build.check(FAILED, name="lint", required=False)
    assert weighed(build.measured(1, build.check(), lint)).decision is Decision.APPROVE
    both = build.measured(1, build.check(), build.check(FAILED, name="lint"), build.check(ABSENT, name="build"))
    assert broken(weighed(both)) == {"checks": "`lint` failed: exit code 1; `build` absent: the command was not found"}


def test_a_project_without_checks_can_be_approved() -> None:
    assert weighed(replace(build.measured(1), checks=())).decision is Decision.APPROVE


@pytest.mark.parametrize("change", [build.committed(1, refused=[WORKFLOW]), facts.disputing(1, build.sha(1))])
def test_a_refused_path_is_feedback_with_a_must_fix(change: Committed | Unchanged) -> None:
    decided = weighed(change=replace(change, refused=(WORKFLOW,)))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {"refused-paths": "`.github/workflows/ci.yml`: changed by people only"}
    assert [(issue.id, issue.category) for issue in decided.issues] == [("G1.1.refused-paths", Category.SECURITY)]


def test_an_empty_diff_is_feedback_with_a_must_fix() -> None:
    decided = weighed(build.measured(1, diff=NO_FILES))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {"diff": "the branch changes nothing against the base"}
    assert [(issue.id, issue.category) for issue in decided.issues] == [("G1.1.diff", Category.MISSING_REQUIREMENT)]


def test_a_false_claim_is_feedback_with_a_must_fix() -> None:
    rows = [
        build.audit("`pytest` passed", "the check `tests` failed", AuditResult.CONTRADICTED),
        build.audit("`tox` passed", "no check measures just this", AuditResult.UNPROVED),
        build.audit("`make` passed", "the session ran no such command", AuditResult.CONTRADICTED),
    ]
    decided = weighed(build.measured(1, audit=rows))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {
        "claims": "`pytest` passed: the check `tests` failed; `make` passed: the session ran no such command"
    }
    assert [(issue.id, issue.category) for issue in decided.issues] == [("G1.1.claims", Category.OTHER)]


def test_a_claim_that_cannot_be_proved_is_no_breach() -> None:
    rows = [build.audit("a structured report", "the session gave none", AuditResult.UNPROVED)]
    assert weighed(build.measured(1, audit=rows)).decision is Decision.APPROVE


def test_a_must_fix_beside_an_approval_is_feedback_that_repeats_nothing() -> None:
    decided = weighed(verdict=build.verdict(Decision.APPROVE, build.issue(id_="I1.1.1")))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {"must-fix": "I1.1.1 is open"}
    assert decided.issues == ()


def test_a_should_fix_blocks_in_strict_mode_only() -> None:
    verdict = build.verdict(Decision.APPROVE, build.issue(id_="I1.1.1", severity=Severity.SHOULD_FIX))
    assert weighed(verdict=verdict).decision is Decision.APPROVE
    strict = weighed(verdict=verdict, strictness=Strictness.STRICT)
    assert strict.decision is Decision.FEEDBACK
    assert broken(strict) == {"should-fix": "I1.1.1 is open"}
    nice = build.verdict(Decision.APPROVE, build.issue(severity=Severity.NICE_TO_HAVE))
    assert weighed(verdict=nice, strictness=Strictness.STRICT).decision is Decision.APPROVE


@pytest.mark.parametrize(("head", "words"), [(None, "the branch is at nothing"), ("ff" * 20, "the branch is at ffff")])
def test_a_remote_head_that_was_not_judged_is_the_worlds(head: str | None, words: str) -> None:
    decided = weighed(head=head)
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided)["remote-head"].startswith(words)
    assert [rule.owner for rule in decided.rules if not rule.held] == [Owner.WORLD]
    assert decided.issues == ()


def test_several_breaches_are_several_must_fixes_and_a_long_list_is_bounded() -> None:
    many = [Refused(path=f"{n}/.npmrc", why="it decides where packages come from") for n in range(300)]
    decided = weighed(build.measured(1, build.check(FAILED), diff=NO_FILES), change=build.committed(1, refused=many))
    assert [issue.id for issue in decided.issues] == ["G1.1.checks", "G1.1.refused-paths", "G1.1.diff"]
    assert len(broken(decided)["refused-paths"]) == 2000


# --- the baseline -----------------------------------------------------------------------------------


def base(*runs: CheckRun) -> Baseline:
    return Baseline(checks=runs)


def test_tests_that_failed_before_are_not_charged() -> None:
    before = base(facts.run(FAILED, "a::old", "a::older"))
    assert weighed(build.measured(1, facts.run(FAILED, "a::old")), baseline=before).decision is Decision.APPROVE
    both = facts.run(FAILED, "a::old", "a::older")
    assert weighed(build.measured(1, both), baseline=before).decision is Decision.APPROVE


def test_a_new_failure_is_charged_and_named() -> None:
    before = base(facts.run(FAILED, "a::old"))
    decided = weighed(build.measured(1, facts.run(FAILED, "a::new", "a::old")), baseline=before)
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {"checks": "`tests` failed: tests failed (a::new)"}


def test_a_new_failure_in_the_place_of_an_old_one_is_charged() -> None:
    decided = weighed(build.measured(1, facts.run(FAILED, "a::new")), baseline=base(facts.run(FAILED, "a::old")))
    assert decided.decision is Decision.FEEDBACK
    assert broken(decided) == {"checks": "`tests` failed: tests failed (a::new)"}


def test_without_a_report_the_head_must_be_green_whatever_the_base_was() -> None:
    red = facts.run(FAILED, counted=False)
    assert weighed(build.measured(1, red), baseline=base(red)).decision is Decision.FEEDBACK
    assert weighed(build.measured(1, facts.run(PASSED)), baseline=base(red)).decision is Decision.APPROVE
    counted = facts.run(FAILED, "a::old")
    assert weighed(build.measured(1, counted), baseline=base(red)).decision is Decision.FEEDBACK
    assert weighed(build.measured(1, red), baseline=base(counted)).decision is Decision.FEEDBACK


def test_a_red_exit_without_a_failing_test_is_charged() -> None:
    """Coverage too low, a crash at the end: the report names no test, the command says no."""
    before = base(facts.run(FAILED, "a::old"))
    assert weighed(build.measured(1, facts.run(FAILED)), baseline=before).decision is Decision.FEEDBACK
    assert weighed(build.measured(1, facts.run(FAILED)), baseline=base(facts.run(FAILED))).decision is Decision.FEEDBACK


def test_an_absent_check_is_no_approval_even_where_it_was_absent_before() -> None:
    absent = replace(facts.run(FAILED, "a::old"), result=ABSENT)
    assert weighed(build.measured(1, absent), baseline=base(absent)).decision is Decision.FEEDBACK


def test_failures_of_another_check_excuse_nothing() -> None:
    before = base(facts.run(FAILED, "a::old", name="slow"), facts.run(PASSED))
    assert weighed(build.measured(1, facts.run(FAILED, "a::old")), baseline=before).decision is Decision.FEEDBACK


def test_a_list_of_failures_that_was_cut_excuses_nothing() -> None:
    """The new failure may be among those that were left out."""
    old = facts.run(FAILED, *(f"a::t{n:03}" for n in range(MOST_FAILURES)))
    counts = old.counts
    assert counts
    more = replace(old, counts=replace(counts, failed=MOST_FAILURES + 1))
    assert weighed(build.measured(1, more), baseline=base(old)).decision is Decision.FEEDBACK
    assert weighed(build.measured(1, more), baseline=base(more)).decision is Decision.FEEDBACK


def test_more_failures_under_the_same_name_are_new_ones() -> None:
    old = facts.run(FAILED, "suite::works")
    counts = old.counts
    assert counts
    two = replace(old, counts=replace(counts, failed=2))
    assert weighed(build.measured(1, two), baseline=base(old)).decision is Decision.FEEDBACK
    assert weighed(build.measured(1, two), baseline=base(two)).decision is Decision.APPROVE


def test_a_check_that_failed_before_in_the_same_tests_is_evidence() -> None:
    old = facts.run(FAILED, "a::old")
    record = replace(RECORD, checks=(old,), baseline=base(old))
    assert gate.resolves(facts.ref(CHECK, "tests"), record)
    assert not gate.resolves(facts.ref(CHECK, "tests"), replace(record, baseline=None))


# --- no approval without the whole conjunction -------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """All that a decision rests on, in any combination."""

    verdict: Verdict
    open_issues: tuple[Issue, ...]
    touched: bool
    change: Committed | Unchanged
    measured: Measured
    baseline: Baseline | None
    strict: bool
    head: str | None


GOOD_REFS = ["check: tests", "file: src/weather.py:40", "run: R1"]
BAD_REFS = ["check: lint", "file: src/weather.py:41", "run: R3", "run: R9"]
MUST, SHOULD = build.issue(id_="I1.1.1"), build.issue(id_="I1.1.2", severity=Severity.SHOULD_FIX)
OLD = base(facts.run(FAILED, "a::old"))
SPOILERS = (
    "ids status refs decision issues previous checks audit diff refused touched baseline head".split()  # noqa: SIM905
)


def reference(text: str) -> EvidenceRef:
    kind, _, to = text.partition(": ")
    return facts.ref(EvidenceKind(kind), to)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A scene in which all is well but for two things at most, so that each alone comes up often."""
    spoilt = draw(st.sets(st.sampled_from(SPOILERS), max_size=2))

    def pick(what: str, good: Sequence[T], bad: Sequence[T]) -> T:
        return draw(st.sampled_from(bad if what in spoilt else good))

    ids = pick("ids", [("AC-1", "AC-2", "AC-3")], [("AC-1", "AC-2"), ("AC-1", "AC-2", "AC-3", "AC-3"), ("AC-4",)])
    met, others = [CriterionStatus.MET], [CriterionStatus.NOT_MET, CriterionStatus.NOT_TESTED]
    rulings = [Ruling(id=id_, status=CriterionStatus.MET, evidence=(reference(GOOD_REFS[0]),)) for id_ in ids]
    refs = tuple(reference(ref) for ref in draw(st.lists(st.sampled_from(GOOD_REFS), min_size=1, max_size=3)))
    refs += tuple(pick("refs", [()], [(reference(ref),) for ref in BAD_REFS]))
    one = draw(st.integers(0, len(ids) - 1))
    rulings[one] = Ruling(
        id=ids[one], status=pick("status", met, others), evidence=draw(st.sampled_from([refs] * 9 + [()]))
    )
    earlier = draw(st.sampled_from([(), (MUST,), (SHOULD,)]))
    closed = [PreviousStatus.RESOLVED, PreviousStatus.WITHDRAWN]
    answers = tuple(Previous(issue=issue.id, status=draw(st.sampled_from(closed))) for issue in earlier)
    still = tuple(Previous(issue=issue.id, status=PreviousStatus.OPEN) for issue in earlier)
    unknown = Previous(issue="I7.7.7", status=PreviousStatus.RESOLVED)
    verdict = Verdict(
        decision=pick("decision", [Decision.APPROVE], [Decision.FEEDBACK]),
        summary="So it is.",
        criteria=tuple(rulings),
        issues=pick("issues", [()], [(MUST,), (SHOULD,)]),
        previous=pick("previous", [answers], [still, (), (*answers, unknown)]),
    )
    green = [(facts.run(PASSED),), (facts.run(PASSED), facts.run(FAILED, name="lint", required=False))]
    red = [
        (facts.run(FAILED, "a::old"),),
        (facts.run(FAILED, "a::new"),),
        (facts.run(FAILED, counted=False),),
        (facts.run(ABSENT),),
        (facts.run(PASSED), facts.run(FAILED, name="lint")),
    ]
    usual = build.measured(1)
    false_claim = build.audit("`x` passed", "no trace", AuditResult.CONTRADICTED)
    measured = replace(
        usual,
        checks=pick("checks", green, red),
        audit=pick("audit", [()], [(false_claim,)]),
        diff=pick("diff", [usual.diff], [NO_FILES]),
    )
    changes: list[Committed | Unchanged] = [build.committed(1), facts.disputing(1, build.sha(1))]
    change = draw(st.sampled_from(changes))
    return Scene(
        verdict=verdict,
        open_issues=earlier,
        touched=pick("touched", [False], [True]),
        change=replace(change, refused=pick("refused", [()], [(WORKFLOW,)])),
        measured=measured,
        baseline=pick("baseline", [OLD], [None, base(facts.run(PASSED))]),
        strict=draw(st.booleans()),
        head=pick("head", [build.sha(1)], [build.sha(2), None]),
    )


def approvable(scene: Scene) -> bool:
    """The conjunction of docs/design.md, "The verdict", written once more."""
    old_known = scene.baseline == OLD
    green = {
        run.name: run.result is PASSED or (old_known and run.counts is not None and run.counts.failures == ("a::old",))
        for run in scene.measured.checks
    }
    real = {
        "check: tests": green["tests"],
        "check: lint": green.get("lint", False),
        "file: src/weather.py:40": True,
        "run: R1": True,
    }
    rulings = scene.verdict.criteria
    return (
        scene.verdict.decision == "approve"
        and sorted(ruling.id for ruling in rulings) == ["AC-1", "AC-2", "AC-3"]
        and all(ruling.status == "met" and ruling.evidence for ruling in rulings)
        and all(real.get(f"{ref.kind}: {ref.ref}", False) for ruling in rulings for ref in ruling.evidence)
        and not any(issue.severity == "must_fix" for issue in scene.verdict.issues)
        and not (scene.strict and any(issue.severity == "should_fix" for issue in scene.verdict.issues))
        and {answer.issue for answer in scene.verdict.previous} == {issue.id for issue in scene.open_issues}
        and not any(answer.status == "open" and answer.issue == "I1.1.1" for answer in scene.verdict.previous)
        and all(green[run.name] for run in scene.measured.checks if run.required)
        and not scene.change.refused
        and scene.measured.diff.files > 0
        and not any(row.result == "contradicted" for row in scene.measured.audit)
        and not scene.touched
        and scene.head == build.sha(1)
    )


@settings(max_examples=250, deadline=None)
@given(scenes())
def test_an_approval_comes_out_exactly_where_the_whole_conjunction_holds(scene: Scene) -> None:
    record = replace(
        RECORD,
        open_issues=scene.open_issues,
        checks=scene.measured.checks,
        baseline=scene.baseline,
        touched=scene.touched,
    )
    counts = gate.faults(scene.verdict, record) == ()
    decided = weighed(
        scene.measured,
        verdict=scene.verdict,
        change=scene.change,
        baseline=scene.baseline,
        strictness=Strictness.STRICT if scene.strict else Strictness.STANDARD,
        head=scene.head,
    )
    approved = counts and decided.decision is Decision.APPROVE
    event(f"approved: {approved}")
    assert approved == approvable(scene)
    assert not approved or all(rule.held for rule in decided.rules)


def test_an_earlier_should_fix_that_is_open_blocks_an_approval_in_strict_mode_alone() -> None:
    earlier = build.issue(severity=Severity.SHOULD_FIX)
    verdict = replace(approving(build.run_ref()), previous=(Previous(issue="I1.1.1", status=PreviousStatus.OPEN),))
    relaxed = replace(RECORD, open_issues=(earlier,))
    assert found(verdict, relaxed) == ()
    assert found(verdict, replace(relaxed, strict=True)) == (
        "`approve` beside I1.1.1, a should_fix that is still open.",
    )


def test_an_earlier_issue_is_answered_once() -> None:
    answers = tuple(
        Previous(issue="I1.1.1", status=status) for status in (PreviousStatus.OPEN, PreviousStatus.RESOLVED)
    )
    verdict = replace(approving(), previous=answers)
    assert "Answer I1.1.1 in `previous` once, not 2 times." in found(
        verdict, replace(RECORD, open_issues=(build.issue(),))
    )


def test_a_suite_that_runs_less_or_ends_otherwise_than_before_is_no_known_failure() -> None:
    before = build.check(FAILED, failures=["a::b"])
    baseline = Baseline(checks=(before,))
    assert before.counts is not None
    assert gate.passed(before, baseline)
    assert not gate.passed(replace(before, exit_code=2), baseline)
    assert not gate.passed(replace(before, counts=replace(before.counts, run=1)), baseline)

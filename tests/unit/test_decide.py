"""What comes next follows from the facts alone, and every attempt comes to an end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from autobuild_action.decide import decide
from autobuild_action.model import (
    Category,
    Committed,
    Decided,
    Decision,
    Implement,
    Judge,
    Judged,
    Measure,
    Outcome,
    Owner,
    Reason,
    Result,
    Unchanged,
    Weigh,
    Why,
)
from tests.support import build, facts

if TYPE_CHECKING:
    from autobuild_action.model import AttemptStarted, Fact, Issue, Step

PLENTY = 4000.0
OTHER = build.issue("The README does not name the option.", id_="I1.1.1", path="README.md", criterion="AC-3")


def after(*happened: Fact, start: AttemptStarted | None = None, seconds: float = PLENTY) -> Step:
    return decide(facts.attempt(*happened, start=start), seconds_left=seconds)


def committed(turn: int, tree: str | None = None) -> Committed:
    made = build.committed(turn)
    return replace(made, tree=tree or made.tree)


def asked(turn: int, *issues: Issue) -> list[Fact]:
    """A turn that ended with feedback on these issues, over green checks."""
    verdict = build.feedback(*issues)
    if not issues:
        verdict = replace(verdict, issues=())
    return [
        build.player(turn),
        committed(turn),
        build.measured(turn),
        build.judged(turn, verdict),
        build.decided(turn, Decision.FEEDBACK),
    ]


def idle(turn: int, commit: str | None = None) -> list[Fact]:
    return [build.player(turn), build.unchanged(turn, commit)]


# --- the way through a turn: a run that died goes on where its journal ends --------------------------


def test_an_attempt_begins_with_a_player() -> None:
    assert after() == Implement(turn=1, budget_usd=7.5)


def test_a_commit_is_measured() -> None:
    assert after(build.player(1), committed(1)) == Measure(turn=1, commit=build.sha(1))


def test_a_measured_commit_is_judged_with_all_that_is_left_of_the_budget() -> None:
    happened = build.player(1, cost=2.0), committed(1), build.measured(1)
    assert after(*happened) == Judge(turn=1, commit=build.sha(1), budget_usd=8.0, faults=())


def test_a_verdict_is_weighed() -> None:
    happened = build.player(1), committed(1), build.measured(1), build.judged(1, build.verdict())
    assert after(*happened) == Weigh(turn=1, commit=build.sha(1))


def test_feedback_is_followed_by_the_next_player_on_three_quarters_of_what_is_left() -> None:
    cheap = [replace_cost(fact, 1.0) for fact in asked(1, OTHER)]
    assert after(*cheap) == Implement(turn=2, budget_usd=6.0)


def replace_cost(fact: Fact, cost: float) -> Fact:
    match fact:
        case Judged():
            usage = replace(fact.session.usage, cost_usd=cost)
            return replace(fact, session=replace(fact.session, usage=usage))
        case _ if fact == build.player(1):
            return build.player(1, cost=cost)
        case _:
            return fact


def test_an_approval_that_held_ends_the_attempt() -> None:
    outcome = after(*build.approve_turn(1))
    assert outcome == Outcome(reason=Reason.APPROVED)
    assert outcome.result is Result.APPROVED


def test_an_approval_that_the_gate_refused_goes_on() -> None:
    assert isinstance(after(*build.override_turn(1)), Implement)


def test_a_verdict_is_no_outcome_before_the_gate_has_spoken() -> None:
    happened = build.player(1), committed(1), build.measured(1), build.judged(1, build.verdict())
    assert isinstance(after(*happened, seconds=0), Weigh)


@pytest.mark.parametrize(
    ("known", "step"),
    [
        (0, Implement(turn=1, budget_usd=7.5)),
        (1, Implement(turn=1, budget_usd=7.5 * 0.979)),  # the session is on record, its work is not: once more
        (2, Measure(turn=1, commit=build.sha(1))),
        (3, Judge(turn=1, commit=build.sha(1), budget_usd=9.79)),
        (4, Weigh(turn=1, commit=build.sha(1))),
        (5, Outcome(reason=Reason.APPROVED)),
    ],
)
def test_a_half_done_turn_goes_on_at_its_own_next_step(known: int, step: Step) -> None:
    found = after(*build.approve_turn(1)[:known])
    if isinstance(step, Implement | Judge) and isinstance(found, Implement | Judge):
        assert found.budget_usd == pytest.approx(step.budget_usd)
        found = replace(found, budget_usd=step.budget_usd)
    assert found == step


# --- sessions that do not complete -------------------------------------------------------------------


@pytest.mark.parametrize("why", [Why.STEPS, Why.TIME, Why.BUDGET])
def test_what_a_player_left_that_was_cut_short_is_committed_and_judged(why: Why) -> None:
    cut = build.player(1, why=why)
    assert after(cut, committed(1)) == Measure(turn=1, commit=build.sha(1))
    assert isinstance(after(cut, committed(1), build.measured(1)), Judge)


@pytest.mark.parametrize("why", [Why.STEPS, Why.TIME, Why.BUDGET])
def test_a_player_that_was_cut_short_before_it_changed_anything_used_its_turn(why: Why) -> None:
    step = after(build.player(1, why=why), build.unchanged(1))
    assert isinstance(step, Implement)
    assert step.turn == 2


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        (Why.CRASH, Reason.PLAYER_ERROR),
        (Why.REFUSAL, Reason.PLAYER_ERROR),
        (Why.MODEL, Reason.MODEL_UNAVAILABLE),
    ],
)
def test_a_failed_player_is_repeated_once_and_then_its_reason_ends_the_attempt(why: Why, reason: Reason) -> None:
    first = build.player(1, why=why, detail="it broke")
    again = after(first)
    assert isinstance(again, Implement)
    assert again.turn == 1
    assert after(first, build.player(1, why=why, detail="it broke again")) == Outcome(
        reason=reason, detail="it broke again"
    )


def test_the_last_of_two_failures_names_the_reason() -> None:
    crash, model = build.player(1, why=Why.CRASH), build.player(1, why=Why.MODEL, detail="529 overloaded")
    assert after(crash, model) == Outcome(reason=Reason.MODEL_UNAVAILABLE, detail="529 overloaded")
    assert after(model, crash) == Outcome(reason=Reason.PLAYER_ERROR)


def test_a_failed_player_may_try_again_in_the_next_turn_too() -> None:
    step = after(build.player(1, why=Why.CRASH), *asked(1, OTHER), build.player(2, why=Why.CRASH))
    assert isinstance(step, Implement)
    assert step.turn == 2


def test_a_refused_key_ends_the_attempt_at_once() -> None:
    outcome = after(build.player(1, why=Why.AUTH, detail="invalid x-api-key"))
    assert outcome == Outcome(reason=Reason.AUTH, detail="invalid x-api-key")
    assert outcome.result is Result.FAILED
    coach = facts.coached(1, why=Why.AUTH, detail="invalid x-api-key", faults=["no answer"])
    assert after(build.player(1), committed(1), build.measured(1), coach) == outcome


def test_a_coach_without_a_verdict_is_followed_by_a_fresh_one_that_is_told_the_faults() -> None:
    happened = build.player(1), committed(1), build.measured(1)
    refused = facts.coached(1, faults=["There is no criterion AC-9."], cost=0.79)
    assert after(*happened, refused) == Judge(
        turn=1, commit=build.sha(1), budget_usd=9.0, faults=("There is no criterion AC-9.",)
    )


def test_a_coach_without_a_verdict_twice_is_a_coach_error() -> None:
    happened = build.player(1), committed(1), build.measured(1)
    outcome = after(
        *happened, facts.coached(1, faults=["First."]), facts.coached(1, faults=["AC-1 twice.", "AC-2 never."])
    )
    assert outcome == Outcome(reason=Reason.COACH_ERROR, detail="AC-1 twice. AC-2 never.")
    assert outcome.result is Result.FAILED


def test_a_second_coach_with_a_verdict_is_weighed() -> None:
    happened = build.player(1), committed(1), build.measured(1), facts.coached(1, faults=["First."])
    assert after(*happened, build.judged(1, build.verdict())) == Weigh(turn=1, commit=build.sha(1))


@pytest.mark.parametrize(("why", "reason"), [(Why.MODEL, Reason.MODEL_UNAVAILABLE), (Why.CRASH, Reason.COACH_ERROR)])
def test_a_coach_that_failed_twice_ends_with_its_reason(why: Why, reason: Reason) -> None:
    failed = facts.coached(1, why=why, detail="it broke", faults=["no answer"])
    happened = build.player(1), committed(1), build.measured(1), failed
    assert isinstance(after(*happened), Judge)
    assert after(*happened, failed) == Outcome(reason=reason, detail="it broke")


def test_a_coach_that_used_up_the_budget_is_no_error_of_the_coach() -> None:
    cut = facts.coached(1, why=Why.BUDGET, detail="the session's budget was used up", cost=4.7)
    happened = build.player(1), committed(1), build.measured(1), cut
    outcome = after(*happened, facts.coached(1, why=Why.BUDGET, cost=4.8))
    assert isinstance(outcome, Outcome)
    assert (outcome.reason, outcome.result) == (Reason.BUDGET, Result.BLOCKED)


# --- disputes ---------------------------------------------------------------------------------------


def test_a_disputed_commit_is_judged_again_without_a_new_measurement() -> None:
    happened = *asked(1, OTHER), build.player(2, cost=0.0), facts.disputing(2, build.sha(1))
    step = after(*happened)
    assert isinstance(step, Judge)
    assert (step.turn, step.commit, step.faults) == (2, build.sha(1), ())


def test_a_disputed_commit_of_an_earlier_attempt_is_measured_in_this_one() -> None:
    made = build.journal(build.started(), *asked(1, OTHER), build.started(2), build.player(1))
    made = made.append([facts.disputing(1, build.sha(1))], run=build.RUN, at=build.NOON)
    assert decide(made.attempt, seconds_left=PLENTY) == Measure(turn=1, commit=build.sha(1))


def test_a_dispute_that_convinced_the_coach_ends_approved() -> None:
    verdict = replace(facts.coached(2, build.verdict()), commit=build.sha(1))
    happened = *asked(1, OTHER), build.player(2), facts.disputing(2, build.sha(1)), verdict
    assert after(*happened) == Weigh(turn=2, commit=build.sha(1))
    assert after(*happened, build.decided(2, Decision.APPROVE)) == Outcome(reason=Reason.APPROVED)


def test_a_dispute_before_there_is_any_commit_has_nothing_to_be_judged() -> None:
    step = after(build.player(1), facts.disputing(1, None))
    assert isinstance(step, Implement)
    assert step.turn == 2


# --- stalled ----------------------------------------------------------------------------------------


def test_one_turn_without_a_change_is_followed_by_the_next() -> None:
    step = after(*asked(1, OTHER), *idle(2, build.sha(1)))
    assert isinstance(step, Implement)
    assert step.turn == 3


def test_two_turns_in_a_row_without_a_change_are_a_standstill() -> None:
    outcome = after(*idle(1), *idle(2))
    assert outcome == Outcome(reason=Reason.STALLED, detail="Two turns in a row changed nothing.")
    assert outcome.result is Result.BLOCKED


def test_two_turns_without_a_change_that_do_not_follow_each_other_are_none() -> None:
    assert isinstance(after(*idle(1), *asked(2, OTHER), *idle(3, build.sha(2))), Implement)


def test_a_tree_that_was_committed_before_is_a_standstill_before_it_is_measured() -> None:
    happened = *asked(1, OTHER), *asked(2, build.issue(id_="I1.2.1")), build.player(3), committed(3, build.sha(101))
    assert after(*happened) == Outcome(reason=Reason.STALLED, detail="The tree is the same as after an earlier turn.")


def test_a_tree_of_an_earlier_attempt_may_come_again() -> None:
    made = build.journal(build.started(), *asked(1, OTHER), build.started(2), build.player(1), committed(1))
    assert decide(made.attempt, seconds_left=PLENTY) == Measure(turn=1, commit=build.sha(1))


def same(turn: int) -> Issue:
    """The same thing in other words: category, path and criterion make it the same."""
    return build.issue(f"Seen again in turn {turn}.", id_=f"I1.{turn}.1", line=turn)


def test_three_verdicts_in_a_row_with_the_same_issues_are_a_standstill() -> None:
    assert isinstance(after(*asked(1, same(1)), *asked(2, same(2))), Implement)
    assert after(*asked(1, same(1)), *asked(2, same(2)), *asked(3, same(3))) == Outcome(
        reason=Reason.STALLED, detail="Three verdicts in a row asked for the same things."
    )


@pytest.mark.parametrize(
    "other",
    [
        build.issue(category=Category.EDGE_CASE),
        build.issue(path="src/other.py"),
        build.issue(criterion="AC-1"),
    ],
    ids=["category", "path", "criterion"],
)
def test_three_verdicts_of_which_one_asks_for_something_else_are_none(other: Issue) -> None:
    assert isinstance(after(*asked(1, same(1)), *asked(2, other), *asked(3, same(3))), Implement)
    assert isinstance(after(*asked(1, same(1)), *asked(2, same(2)), *asked(3, same(3), other)), Implement)


def test_three_verdicts_without_a_must_fix_are_no_standstill() -> None:
    assert isinstance(after(*asked(1), *asked(2), *asked(3)), Implement)


def test_the_issues_of_the_gate_count_for_a_standstill_too() -> None:
    turns = [fact for turn in (1, 2, 3) for fact in build.override_turn(turn)]
    assert isinstance(after(*turns[:10]), Implement)
    assert after(*turns) == Outcome(reason=Reason.STALLED, detail="Three verdicts in a row asked for the same things.")


def test_an_idle_turn_between_them_does_not_part_three_verdicts() -> None:
    happened = *asked(1, same(1)), *asked(2, same(2)), *idle(3, build.sha(2)), *asked(4, same(4))
    outcome = after(*happened)
    assert isinstance(outcome, Outcome)
    assert outcome.reason is Reason.STALLED


# --- limits -----------------------------------------------------------------------------------------


def test_the_last_turn_is_not_followed_by_another() -> None:
    two = facts.started(max_turns=2)
    assert isinstance(after(*asked(1, OTHER), start=two), Implement)
    outcome = after(*asked(1, OTHER), *asked(2, same(2)), start=two)
    assert outcome == Outcome(reason=Reason.MAX_TURNS)
    assert outcome.result is Result.BLOCKED


def test_turns_without_a_change_count() -> None:
    assert after(*asked(1, OTHER), *idle(2, build.sha(1)), start=facts.started(max_turns=2)) == Outcome(
        reason=Reason.MAX_TURNS
    )


def test_an_approval_in_the_last_turn_counts() -> None:
    assert after(*build.approve_turn(1), start=facts.started(max_turns=1)) == Outcome(reason=Reason.APPROVED)


def test_a_failed_session_costs_no_turn() -> None:
    step = after(build.player(1, why=Why.CRASH), start=facts.started(max_turns=1))
    assert isinstance(step, Implement)
    assert step.turn == 1


def test_a_used_up_budget_stops_before_the_next_player() -> None:
    spent = [replace_cost(fact, 4.91) for fact in asked(1, OTHER)]
    outcome = after(*spent)
    assert outcome == Outcome(reason=Reason.BUDGET)
    assert outcome.result is Result.BLOCKED


def test_a_used_up_budget_stops_before_the_coach() -> None:
    happened = build.player(1, cost=9.9), committed(1), build.measured(1)
    assert after(*happened) == Outcome(reason=Reason.BUDGET)


def test_checks_and_gate_cost_nothing_and_go_on_without_a_budget() -> None:
    spent = build.player(1, cost=9.99), committed(1)
    assert isinstance(after(*spent), Measure)
    assert isinstance(after(*spent, build.measured(1), build.judged(1, build.verdict())), Weigh)


def test_a_fiftieth_of_the_budget_is_enough_to_go_on() -> None:
    ten = facts.started(budget=10.0)
    step = after(build.player(1, cost=9.75), committed(1), build.measured(1), start=ten)
    assert isinstance(step, Judge)
    assert step.budget_usd == pytest.approx(0.25)
    assert after(build.player(1, cost=9.81), committed(1), build.measured(1), start=ten) == Outcome(
        reason=Reason.BUDGET
    )


def test_the_budget_is_the_attempts_own() -> None:
    dear = [replace_cost(fact, 4.99) for fact in asked(1, OTHER)]
    made = build.journal(build.started(), *dear, build.started(2))
    assert decide(made.attempt, seconds_left=PLENTY) == Implement(turn=1, budget_usd=7.5)


@pytest.mark.parametrize("known", [0, 2, 3])
def test_without_time_nothing_new_is_begun(known: int) -> None:
    happened = build.approve_turn(1)[:known]
    assert not isinstance(after(*happened, seconds=60), Outcome)
    outcome = after(*happened, seconds=59.9)
    assert outcome == Outcome(reason=Reason.TIMEOUT)
    assert outcome.result is Result.BLOCKED


def test_an_outcome_that_is_there_already_needs_no_time() -> None:
    assert after(*build.approve_turn(1), seconds=-5) == Outcome(reason=Reason.APPROVED)


# --- what only a person or the world can end --------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "reason"),
    [
        (Category.UNSAFE_REQUEST, Reason.UNSAFE_REQUEST),
        (Category.AMBIGUOUS_REQUIREMENT, Reason.NEEDS_CLARIFICATION),
    ],
)
def test_a_request_that_a_person_must_see_ends_the_attempt(category: Category, reason: Reason) -> None:
    outcome = after(*asked(1, OTHER, build.issue(category=category)))
    assert outcome == Outcome(reason=reason)
    assert outcome.result is Result.BLOCKED


def test_an_unsafe_request_goes_before_an_unclear_one() -> None:
    unclear = build.issue(category=Category.AMBIGUOUS_REQUIREMENT)
    unsafe = build.issue(category=Category.UNSAFE_REQUEST)
    assert after(*asked(1, unclear, unsafe)) == Outcome(reason=Reason.UNSAFE_REQUEST)


def test_a_branch_that_somebody_moved_ends_the_attempt_whatever_the_verdict_was() -> None:
    moved = build.rule("remote-head", owner=Owner.WORLD, held=False)
    happened = build.approve_turn(1)[:-1]
    for decision in Decision:
        outcome = after(*happened, build.decided(1, decision, build.rule("checks"), moved))
        assert isinstance(outcome, Outcome)
        assert (outcome.reason, outcome.result) == (Reason.SUPERSEDED, Result.BLOCKED)


# --- any sequence of sessions -----------------------------------------------------------------------

SESSIONS = st.sampled_from([None, *Why])
MOST_STEPS = 100


@st.composite
def next_facts(draw: st.DrawFn, step: Step) -> list[Fact]:
    """What a step may give: sessions that end in any way, trees that come again, verdicts of all kinds."""
    match step:
        case Implement(turn=turn):
            player = build.player(turn, why=draw(SESSIONS), cost=draw(st.floats(0, 1)))
            if player.session.end == "failed":
                return [player]
            tree = build.sha(100 + draw(st.integers(1, 12)))
            change: list[Fact] = [committed(turn, tree), build.unchanged(turn), facts.disputing(turn, build.sha(1))]
            return [player, draw(st.sampled_from(change))]
        case Measure(turn=turn, commit=commit):
            return [replace(build.measured(turn), commit=commit)]
        case Judge(turn=turn, commit=commit):
            issues = draw(st.lists(st.sampled_from([OTHER, same(1), same(2)]), max_size=2))
            verdict = draw(st.sampled_from([build.verdict(), build.feedback(*issues), None]))
            why = draw(SESSIONS) if verdict is None else None
            return [facts.coached(turn, verdict, commit=commit, why=why, cost=draw(st.floats(0, 1)))]
        case Weigh(turn=turn):
            return [build.decided(turn, draw(st.sampled_from(Decision)))]
        case Outcome():
            return []


@settings(max_examples=80, deadline=None)
@given(data=st.data(), max_turns=st.integers(1, 10))
def test_any_run_of_sessions_ends_within_its_turns_and_approves_only_what_was_approved(
    data: st.DataObject, max_turns: int
) -> None:
    start = facts.started(max_turns=max_turns)
    happened: list[Fact] = []
    seconds = PLENTY
    for _ in range(MOST_STEPS):
        step = after(*happened, start=start, seconds=seconds)
        if isinstance(step, Outcome):
            break
        assert 1 <= step.turn <= max_turns
        if isinstance(step, Implement | Judge):
            assert 0 < step.budget_usd <= 10
        happened += data.draw(next_facts(step))
        seconds -= data.draw(st.floats(0, 400))
    else:
        pytest.fail("no end")
    event(step.reason)
    turns = facts.attempt(*happened, start=start).turns
    assert len(turns) <= max_turns
    assert sum(isinstance(fact, Committed | Unchanged) for fact in happened) <= max_turns
    last = next((fact for fact in reversed(happened) if isinstance(fact, Decided)), None)
    approved = last is not None and last.decision is Decision.APPROVE
    assert (step.reason is Reason.APPROVED) == (approved and happened[-1] is last)

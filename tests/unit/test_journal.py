"""The journal comes back as it was written, and its views say what its facts say."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest

from autobuild_action import journal as journals
from autobuild_action.errors import JournalError
from autobuild_action.model import (
    AuditResult,
    Baseline,
    Category,
    CheckResult,
    ClaimStatus,
    Command,
    Committed,
    Criterion,
    Decision,
    Dispute,
    Done,
    Ended,
    Entry,
    Fact,
    Intent,
    Issue,
    Judged,
    Mode,
    PlayerEnded,
    Previous,
    PreviousStatus,
    PullRequestMode,
    Reason,
    Refused,
    Report,
    Result,
    RunId,
    Severity,
    Task,
    TaskType,
    TestChange,
    Turn,
    Unchanged,
    Why,
)
from tests.support import build, facts

HALF = "half a pair: \ud83d, whole: \U0001f600, ä"
REPORT = Report(
    summary=HALF,
    criteria=(facts.claim("AC-1", ClaimStatus.PARTLY, "the option is there"),),
    tests_run=(facts.said("pytest", CheckResult.FAILED),),
    concerns=("slow",),
    disputed=(Dispute(issue="I1.1.1", reason="it is right", path="a.py", line=3),),
)
VERDICT = replace(
    build.verdict(
        Decision.APPROVE,
        build.issue(end_line=14, suggestion="print it", replacement="x = 1\n"),
        build.issue(path=None, line=None, criterion=None),
        previous=[Previous(issue="I1.0.1", status=PreviousStatus.WITHDRAWN, note="it was wrong")],
    ),
    test_changes=(TestChange(test="tests/test_a.py::t", criterion="AC-1", note="new behaviour"),),
)
CONTRACT = Task(
    title="A title",
    text="# A title\n\nText",
    criteria=(Criterion(id="AC-1", text="It works"),),
    sha256="5f" * 32,
    type=TaskType.BUGFIX,
    mode=Mode.TDD,
    max_turns=3,
    files=("src/a.py",),
    notes=("a comment was left out",),
)
EVERY: tuple[Fact, ...] = (
    facts.started(2, mode=PullRequestMode.ON_APPROVAL, guidance="use argparse"),
    replace(build.started(), contract=CONTRACT),
    Baseline(checks=()),
    Baseline(checks=(facts.run(CheckResult.ABSENT, counted=False), facts.run(CheckResult.FAILED, "a::b"))),
    build.player(1, why=Why.STEPS, detail="150 steps"),
    replace(build.player(1), report=REPORT, commands=("pytest -q", "ls")),
    build.committed(1, refused=[Refused(path=".npmrc", why="no")], needs_person=["pyproject.toml"]),
    Unchanged(turn=2, commit=None),
    Unchanged(turn=2, commit="a" * 40, disputes=(facts.dispute(),), refused=(Refused(path="x", why="y"),)),
    build.measured(1, build.check(), audit=[build.audit("`x` passed", "no trace", AuditResult.CONTRADICTED)]),
    facts.coached(1, None, why=Why.MODEL, faults=["no answer"], detail="529"),
    build.judged(1, VERDICT),
    build.decided(1, Decision.FEEDBACK, build.rule("checks", held=False, detail="red"), issues=[build.issue()]),
    Intent(key="1/1/review"),
    Done(key="1/1/review", github_id=5, url="https://x"),
    Done(key="1/1/pull-request", github_id=None, url="", refused="not permitted"),
    Command(comment_id=9, login="ana", text="retry"),
    Ended(attempt=1, result=Result.BLOCKED, reason=Reason.MAX_TURNS, detail="five turns"),
)


def document(*happened: Fact) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(journals.dumps(build.journal(*happened)))
    return read


def loaded(changed: dict[str, Any]) -> journals.Journal:
    return journals.loads(json.dumps(changed))


# --- its text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", EVERY, ids=lambda fact: type(fact).__name__)
def test_every_fact_comes_back_as_it_was_written(fact: Fact) -> None:
    assert journals.loads(journals.dumps(build.journal(fact))).facts == (fact,)


def test_the_examples_have_every_kind_of_fact() -> None:
    assert {type(fact) for fact in EVERY} == set(get_args(Fact)) == set(journals.KINDS)


def test_a_whole_journal_comes_back_as_it_was_written() -> None:
    made = build.journal(*EVERY)
    assert journals.loads(journals.dumps(made)) == made


def test_the_text_has_the_promised_shape() -> None:
    made = build.journal(build.started(), build.opened(12))
    read = json.loads(journals.dumps(made))
    assert list(read) == ["schema", "id", "repository", "issue", "branch", "base", "pull_request", "facts"]
    assert (read["schema"], read["issue"], read["branch"], read["base"]) == (1, 7, "autobuild/issue-7", "main")
    assert (read["id"], read["repository"], read["pull_request"]) == (build.JOURNAL, "octo-org/weather", 12)
    assert [fact["kind"] for fact in read["facts"]] == ["attempt_started", "intent", "done"]
    assert read["facts"][1] == {
        "seq": 2,
        "at": "2026-03-01T12:01:00+00:00",
        "run": {"id": "901", "attempt": 1, "url": "https://github.example/octo-org/weather/actions/runs/901"},
        "kind": "intent",
        "key": "1/1/pull-request",
    }


def test_a_journal_without_a_pull_request_says_so() -> None:
    assert document(build.started())["pull_request"] is None
    assert document(build.started(), *build.opened(None, refused="no"))["pull_request"] is None


def test_the_kinds_are_the_promised_ones() -> None:
    assert set(journals.KINDS.values()) == {
        "attempt_started",
        "baseline",
        "player_ended",
        "committed",
        "unchanged",
        "measured",
        "judged",
        "decided",
        "intent",
        "done",
        "command",
        "ended",
    }


def test_text_that_is_not_unicode_can_still_be_pushed() -> None:
    made = build.journal(replace(build.player(1), report=REPORT))
    assert journals.loads(journals.dumps(made).encode().decode()) == made


def test_the_time_is_kept_as_utc_to_the_second() -> None:
    here = datetime(2026, 3, 1, 14, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    made = replace(build.journal(), entries=()).append([Intent(key="k")], run=build.RUN, at=here)
    (entry,) = journals.loads(journals.dumps(made)).entries
    assert entry == Entry(seq=1, at=datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC), run=build.RUN, fact=Intent(key="k"))


def test_facts_are_numbered_on_from_the_last_one() -> None:
    made = build.journal(Intent(key="a"), Intent(key="b"))
    made = made.append([Intent(key="c"), Intent(key="d")], run=RunId(id="2", attempt=1, url="u"), at=build.NOON)
    assert [entry.seq for entry in made.entries] == [1, 2, 3, 4]
    assert made.entries[-1].run == RunId(id="2", attempt=1, url="u")


def test_the_cost_of_a_run_is_that_of_its_own_sessions() -> None:
    made = build.journal(build.started(), build.player(1, cost=0.5))
    made = made.append([build.player(2, cost=0.25)], run=RunId(id="2", attempt=1, url="u"), at=build.NOON)
    assert made.cost_of(build.RUN) == 0.5
    assert made.cost_of(RunId(id="2", attempt=1, url="u")) == 0.25


def test_a_kind_of_fact_that_is_not_known_is_left_out() -> None:
    read = document(build.started(), Intent(key="a"))
    read["facts"].insert(1, {**read["facts"][1], "kind": "plan_posted", "plan": ["x"]})
    assert loaded(read).facts == (build.started(), Intent(key="a"))


def test_a_field_that_is_not_known_is_left_out() -> None:
    read = document(Intent(key="a"))
    read["facts"][0]["colour"] = "red"
    assert loaded(read).facts == (Intent(key="a"),)


@pytest.mark.parametrize("schema", [2, 0, "1", None])
def test_a_schema_that_is_not_known_is_refused_in_clear_words(schema: object) -> None:
    with pytest.raises(JournalError) as caught:
        loaded(document(build.started()) | {"schema": schema})
    assert caught.value.what == f"The journal has schema {schema!r}; this version reads schema 1."
    assert caught.value.cure == "Use the version of the action that wrote it, or a newer one."
    assert caught.value.reason is Reason.ENVIRONMENT


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", '{"id": "x"}', "[" * 100_000])
def test_what_is_no_journal_is_refused_in_clear_words(text: str) -> None:
    with pytest.raises(JournalError) as caught:
        journals.loads(text)
    assert caught.value.what == "The journal is not readable JSON."
    assert caught.value.cure.startswith("Put an earlier commit of the journal's ref back")


def damage(read: dict[str, Any]) -> list[dict[str, Any]]:
    fact = read["facts"][0]
    return [
        {key: value for key, value in read.items() if key != "branch"},
        {key: value for key, value in read.items() if key != "facts"},
        {**read, "facts": 7},
        {**read, "facts": ["x"]},
        {**read, "facts": [{key: value for key, value in fact.items() if key != "turn"}]},
        {**read, "facts": [{**fact, "at": "yesterday"}]},
        {**read, "facts": [{**fact, "run": None}]},
        {**read, "facts": [{**fact, "session": {**fact["session"], "end": "exploded"}}]},
    ]


@pytest.mark.parametrize("case", range(8))
def test_a_damaged_journal_is_refused_in_clear_words(case: int) -> None:
    with pytest.raises(JournalError, match=r"^The journal is damaged: \w+\. Put an earlier commit"):
        loaded(damage(document(build.player(1)))[case])


# --- its views --------------------------------------------------------------------------------------


def test_facts_are_grouped_by_attempt_and_turn() -> None:
    cut, failed = build.player(2), build.player(1, why=Why.CRASH)
    one, two = build.feedback_turn(1), build.approve_turn(1)
    refused = facts.coached(2, None, faults=["x"])
    made = build.journal(
        Command(comment_id=1, login="ana", text=""),
        build.started(),
        Baseline(checks=()),
        failed,
        one,
        Intent(key="1/1/review"),
        [cut, build.committed(2), build.measured(2), refused],
        build.ended(Reason.STOPPED),
        Command(comment_id=2, login="ana", text="more"),
        build.started(2),
        two,
    )
    first, second = made.attempts
    assert first.started == build.started()
    assert first.baseline == Baseline(checks=())
    assert first.ended == build.ended(Reason.STOPPED)
    assert first.turns == (
        Turn(
            number=1,
            sessions=(failed, build.player(1)),
            change=build.committed(1),
            measured=first.turns[0].measured,
            judgements=(first.turns[0].judgements[0],),
            decided=first.turns[0].decided,
        ),
        Turn(
            number=2,
            sessions=(cut,),
            change=build.committed(2),
            measured=build.measured(2),
            judgements=(refused,),
        ),
    )
    assert first.turns[0].measured == one[2]
    assert first.turns[0].judgements == (one[3],)
    assert first.turns[0].decided == one[4]
    assert made.attempt == second
    assert (second.number, second.baseline, second.ended) == (2, None, None)
    assert [turn.number for turn in second.turns] == [1]


def test_a_journal_without_an_attempt_has_none() -> None:
    assert build.journal(Command(comment_id=1, login="ana", text="")).attempts == ()


def test_the_cost_is_that_of_every_session_also_of_those_that_failed() -> None:
    attempt = facts.attempt(
        build.player(1, why=Why.CRASH, cost=0.25),
        build.player(1, cost=0.5),
        build.committed(1),
        build.measured(1),
        facts.coached(1, None, faults=["x"], cost=1.0),
        build.judged(1, build.verdict(), cost=2.0),
        build.player(2, cost=4.0),
    )
    assert [turn.cost_usd for turn in attempt.turns] == [3.75, 4.0]
    assert attempt.cost_usd == 7.75


def test_the_head_is_the_last_commit_this_attempt_knows_of() -> None:
    assert facts.attempt().head is None
    assert facts.attempt(build.player(1), build.unchanged(1)).head is None
    assert facts.attempt(build.player(1), build.unchanged(1, "ab" * 20)).head == "ab" * 20
    committed = build.player(1), build.committed(1), build.player(2), build.unchanged(2)
    assert facts.attempt(*committed).head == build.sha(1)
    assert facts.attempt(*committed, build.player(3), build.committed(3)).head == build.sha(3)


def test_a_commit_is_measured_once_and_found_again() -> None:
    attempt = facts.attempt(build.player(1), build.committed(1), build.measured(1), build.player(2))
    assert attempt.measured(build.sha(1)) == build.measured(1)
    assert attempt.measured(build.sha(2)) is None


@pytest.mark.parametrize(
    ("change", "idle"),
    [
        (None, False),
        (build.committed(1), False),
        (build.unchanged(1), True),
        (build.unchanged(1, "ab" * 20), True),
        (facts.disputing(1, None), True),
        (facts.disputing(1, "ab" * 20), False),
    ],
)
def test_a_turn_is_idle_where_there_is_nothing_to_judge(change: Committed | Unchanged | None, *, idle: bool) -> None:
    assert Turn(number=1, change=change).idle is idle


def test_what_is_asked_of_the_next_player_is_the_gates_first_then_the_verdicts() -> None:
    of_gate = build.issue(id_="G1.1.checks")
    should = build.issue(id_="I1.1.2", severity=Severity.SHOULD_FIX)
    verdict = build.feedback(build.issue(id_="I1.1.1"), should)
    turn = Turn(
        number=1,
        judgements=(facts.coached(1, None, faults=["x"]), build.judged(1, verdict)),
        decided=build.decided(1, Decision.FEEDBACK, issues=[of_gate]),
    )
    assert [issue.id for issue in turn.issues] == ["G1.1.checks", "I1.1.1", "I1.1.2"]
    assert [issue.id for issue in turn.must_fix] == ["G1.1.checks", "I1.1.1"]
    assert Turn(number=1).issues == ()


def test_the_report_is_that_of_the_session_whose_work_counts() -> None:
    failed: PlayerEnded = build.player(1, why=Why.CRASH)
    assert Turn(number=1, sessions=(failed, replace(build.player(1), report=REPORT))).report == REPORT
    assert Turn(number=1, sessions=(replace(build.player(1), report=REPORT), failed)).report == Report()
    assert Turn(number=1).report == Report()


# --- issues that are still open ----------------------------------------------------------------------

A = build.issue("a", id_="I1.1.1")
B = build.issue("b", id_="I1.1.2", severity=Severity.NICE_TO_HAVE)
C = build.issue("c", id_="I1.2.1", category=Category.SECURITY)


def judged(turn: int, *issues: Issue, **answers: PreviousStatus) -> list[Fact]:
    """A turn with these issues and these answers on earlier ones (``I1_1_1`` for I1.1.1)."""
    previous = tuple(Previous(issue=id_.replace("_", "."), status=status) for id_, status in answers.items())
    verdict = replace(build.feedback(), issues=issues, previous=previous)
    return [build.player(turn), build.judged(turn, verdict), build.decided(turn, Decision.FEEDBACK)]


def test_the_issues_of_a_verdict_are_open() -> None:
    assert build.journal(build.started(), judged(1, A, B)).open_issues == (A, B)


def test_an_issue_that_is_resolved_or_withdrawn_is_closed_and_the_rest_stays_open_in_its_order() -> None:
    second = judged(2, C, I1_1_1=PreviousStatus.RESOLVED, I1_1_2=PreviousStatus.OPEN)
    made = build.journal(build.started(), judged(1, A, B), second)
    assert made.open_issues == (B, C)
    third = judged(3, I1_1_2=PreviousStatus.WITHDRAWN, I1_2_1=PreviousStatus.OPEN)
    assert build.journal(build.started(), judged(1, A, B), second, third).open_issues == (C,)


def test_an_issue_that_was_not_answered_stays_open() -> None:
    assert build.journal(build.started(), judged(1, A), judged(2)).open_issues == (A,)


def test_issues_stay_open_over_attempts() -> None:
    resolved = PreviousStatus.RESOLVED
    made = build.journal(build.started(), judged(1, A, B), build.started(2), judged(1, I1_1_2=resolved))
    assert made.open_issues == (A,)


def test_a_verdict_that_the_gate_has_not_weighed_opens_and_closes_nothing() -> None:
    half = judged(2, C, I1_1_1=PreviousStatus.RESOLVED)[:2]
    assert build.journal(build.started(), judged(1, A), half).open_issues == (A,)


def test_the_gates_own_issues_are_not_asked_of_the_coach() -> None:
    of_gate = build.decided(1, Decision.FEEDBACK, issues=[build.issue(id_="G1.1.checks")])
    made = build.journal(build.started(), build.player(1), build.judged(1, build.verdict()), of_gate)
    assert made.open_issues == ()


# --- what was done on GitHub -------------------------------------------------------------------------


def test_a_creation_is_known_by_its_key() -> None:
    made = build.journal(build.started(), Intent(key="1/1/review"), build.opened(12))
    assert made.intended("1/1/review")
    assert not made.intended("1/2/review")
    assert made.done("1/1/review") is None
    assert made.done("1/1/pull-request") == build.opened(12)[1]


def test_the_last_word_about_the_pull_request_counts() -> None:
    refused, opened = build.opened(None, refused="not permitted"), build.opened(13, attempt=2)
    assert build.journal(build.started(), refused).pull_request == refused[1]
    assert build.journal(build.started(), refused, build.started(2), opened).pull_request == opened[1]
    assert build.journal(build.started(), Done(key="1/1/draft-refused", github_id=None, url="")).pull_request is None


def test_a_command_is_taken_up_once() -> None:
    made = build.journal(Command(comment_id=4, login="ana", text=""))
    assert made.consumed(4)
    assert not made.consumed(5)


def test_turns_on_which_the_gate_has_spoken_are_those_with_a_decision() -> None:
    made = build.journal(build.started(), judged(1, A), build.player(2), build.started(2), judged(1, B))
    assert [turn.judgements for turn in made.judged_turns] == [
        (fact,) for fact in made.facts if isinstance(fact, Judged)
    ]

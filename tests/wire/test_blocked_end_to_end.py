"""Runs that end without an approval: what is said, what is kept, and how a person goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulators.github import Event
from simulators.model import Answer, Refuse, Say, Usage
from tests.support.world import (
    BROKEN,
    SUB,
    World,
    approves,
    bash,
    builds,
    evidence,
    markers,
    met,
    must_fix,
    objects,
    plays,
    posted_json,
    read,
    report,
    resolved,
    unmet,
    verdict,
    words,
    world,
    write,
)

GUIDANCE = "Mind the sign: take b from a."
WRONG = "It takes a from b."
REVERSED = SUB.replace("a - b", "b - a")


# --- blocked at the turn limit, then a retry --------------------------------------------------------


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One turn is all there is, and it isn't approved; what comes after it is a person's."""
    with world(
        tmp_path_factory.mktemp("blocked"),
        inputs={"max-turns": "1"},
        player=[builds(REVERSED), builds(SUB)],
        coach=[
            objects(must_fix(WRONG, criterion="AC-1", path="calc.py", line=6)),
            approves(previous=resolved("I1.1.1")),
        ],
    ) as it:
        it.label()
        yield it


@pytest.fixture(scope="module")
def report_text(blocked: World) -> str:
    return blocked.said[1]


def test_at_the_turn_limit_a_run_ends_green_and_blocked(blocked: World) -> None:
    (step,) = blocked.steps
    assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (0, "blocked", "max_turns")
    assert step.outputs["commit"] == blocked.commits[0]
    assert blocked.labels == ["autobuild", "autobuild:blocked"]
    assert blocked.status() == ("failure", "blocked: the turn limit is reached")
    assert len(blocked.said) == 2


def test_branch_and_draft_are_kept(blocked: World) -> None:
    assert blocked.pull.draft is True
    assert blocked.pull.state == "open"
    assert blocked.pull.body.startswith("**Not approved** (blocked: the turn limit is reached).")
    assert blocked.files()["calc.py"] == REVERSED


def test_the_report_says_where_the_work_is_what_is_open_and_what_can_be_done(blocked: World, report_text: str) -> None:
    assert report_text.startswith("### Blocked: the turn limit is reached\n")
    assert markers(report_text) == ["1/0/report"]
    shown = words(report_text)
    assert WRONG in shown
    assert f"/pull/{blocked.pull.number})" in report_text
    assert "Criteria still open: 1 of 1" in report_text
    assert f"git fetch origin {blocked.branch}" in report_text
    assert "/autobuild retry" in report_text
    assert "Attempts" in report_text


@pytest.fixture(scope="module")
def asked_again(blocked: World) -> tuple[World, Event]:
    """A person retries with a few words; the same event is delivered once more afterwards."""
    event = blocked.repo.comment_event(blocked.issue, f"/autobuild retry {GUIDANCE}", author="alice")
    blocked.run(event)
    blocked.check()
    return blocked, event


def test_a_retry_goes_on_from_the_last_commit_with_a_fresh_turn_limit(asked_again: tuple[World, Event]) -> None:
    it, _ = asked_again
    assert (it.steps[1].outputs["result"], it.steps[1].outputs["turns"]) == ("approved", "1")
    assert len(it.commits) == 2
    assert it.commit(1, "%P") == it.commits[0]
    assert "Autobuild-Attempt: 2\nAutobuild-Turn: 1" in it.commit(1)
    assert it.files()["calc.py"] == SUB
    assert "turn 1 of 1" in it.asked("player")[1].text
    assert len(it.repo.pulls) == 1
    assert it.pull.draft is False
    assert it.labels == ["autobuild", "autobuild:approved"]


def test_the_words_of_a_retry_and_the_old_feedback_reach_the_new_sessions(asked_again: tuple[World, Event]) -> None:
    it, _ = asked_again
    for role in ("player", "coach"):
        first, second = it.asked(role)
        assert GUIDANCE not in first.text
        assert GUIDANCE in second.text
        assert WRONG in second.text


def test_an_older_status_ends_with_a_link_to_the_newer_one(asked_again: tuple[World, Event]) -> None:
    it, _ = asked_again
    old, _, new = it.bot_comments
    assert f"[Attempt 2]({it.repo.url}/issues/1#issuecomment-{new.id}) goes on from here." in old.body
    assert markers(new.body) == ["2/0/status"]
    assert new.body.startswith("### autobuild · Approved")


def test_a_job_that_is_run_again_finds_its_comment_handled(asked_again: tuple[World, Event]) -> None:
    it, event = asked_again
    before = len(it.model.requests), len(it.said), it.commits
    step = it.run(event)
    assert (step.exit_code, step.outputs["result"]) == (0, "ignored")
    assert "already handled" in step.log
    assert (len(it.model.requests), len(it.said), it.commits) == before
    it.check()


def test_approved_work_is_not_built_again_without_anything_new(asked_again: tuple[World, Event]) -> None:
    it, _ = asked_again
    before = len(it.model.requests), it.commits
    assert it.comment("/autobuild retry").outputs["result"] == "ignored"
    assert "is approved already, and there is nothing new to work on" in it.said[-1]
    assert (len(it.model.requests), it.commits) == before
    it.check()


# --- the other ends of an attempt -------------------------------------------------------------------


def test_two_turns_without_a_change_are_stalled_and_red_where_that_was_asked_for(tmp_path: Path) -> None:
    idle = [plays(report(summary="All is well already.")), plays(report())]
    with world(tmp_path, player=idle, config="fail-on-blocked: true\n") as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "blocked", "stalled")
        assert (step.outputs["branch"], step.outputs["commit"]) == ("", "")
        assert it.commits == []
        assert it.repo.pulls == []
        assert "Two turns in a row changed nothing." in it.said[1]
        assert "Nothing was committed." in it.said[1]
        assert "The last turn changed no file." in it.asked("player")[1].text
        assert it.labels == ["autobuild", "autobuild:blocked"]


@pytest.mark.parametrize(
    ("category", "reason", "label", "headline"),
    [
        ("unsafe_request", "unsafe_request", "autobuild:blocked", "Stopped: the request looks unsafe"),
        ("ambiguous_requirement", "needs_clarification", "autobuild:needs-info", "Stopped: the issue needs an answer"),
    ],
)
def test_what_only_a_person_can_decide_stops_the_work(
    tmp_path: Path, category: str, reason: str, label: str, headline: str
) -> None:
    question = must_fix("Which of the two is meant?", category=category)
    coach = plays(verdict("feedback", unmet(1), unmet(2), issues=[question]))
    with world(tmp_path, body="Make it subtract.\n\n- and add", player=[builds()], coach=[coach]) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (0, "blocked", reason)
        assert it.labels == ["autobuild", label]
        assert it.said[1].startswith(f"### {headline}\n")
        assert "Which of the two is meant?" in it.said[1]
        assert "Criteria still open: 2 of 2" in it.said[1], "an issue without a checklist is numbered by us"
        assert "AC-1: Make it subtract.\nAC-2: and add" in it.asked("player")[0].system_text
        assert it.status()[0] == "failure"
        assert it.pull.draft is True


def test_an_attempt_ends_when_its_budget_is_used_up_and_keeps_the_work(tmp_path: Path) -> None:
    dear = Answer(blocks=[bash("echo on and on")], usage=Usage(input_tokens=500_000))
    with world(tmp_path, player=[plays(write("sub.py", SUB), dear)], config="max-budget-usd: 1\n") as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (0, "blocked", "budget")
        assert float(step.outputs["cost-usd"]) > 0.98
        assert it.said[1].startswith("### Blocked: the budget is used up\n")
        assert "may spend 1.00 USD" in it.said[1]
        assert it.files()["sub.py"] == SUB
        assert it.status() == ("failure", "blocked: the budget is used up")
        assert it.reviews == []


# --- sessions that fail -----------------------------------------------------------------------------


def test_a_player_that_crashes_is_played_again_on_the_same_turn(tmp_path: Path) -> None:
    crash = plays(read("calc.py"), write("calc.py", BROKEN), bash("kill -9 $PPID"))
    with world(tmp_path, player=[crash, builds(expect=["turn 1 of 5"])], coach=[approves()]) as it:
        step = it.label()
        assert step.outputs["result"] == "approved"
        assert step.outputs["turns"] == "1"
        assert len(it.commits) == 1
        assert it.files()["calc.py"] == SUB
        ends = [(fact["turn"], fact["session"]["end"]) for fact in it.journal if fact["kind"] == "player_ended"]
        assert ends == [(1, "failed"), (1, "completed")]


def test_a_service_that_fails_to_the_end_is_reported_as_unavailable_with_the_work_kept(tmp_path: Path) -> None:
    down = Refuse(status=500, error_type="api_error", message="down", headers={"x-should-retry": "false"}, times=None)
    with world(tmp_path, player=[builds()], coach=[plays(down), plays(down)]) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "failed", "model_unavailable")
        assert it.said[1].startswith("### Failed: the model could not be reached\n")
        assert "down" in words(it.said[1])
        assert it.labels == ["autobuild", "autobuild:blocked"]
        assert it.status() == ("error", "failed: the model could not be reached")
        assert it.files()["calc.py"] == SUB
        assert it.reviews == []


def test_a_refused_key_ends_the_run_at_once_and_says_which_secrets_to_check(tmp_path: Path) -> None:
    headers = {"x-should-retry": "false"}
    refused = Refuse(status=401, error_type="authentication_error", message="no", headers=headers, times=None)
    with world(tmp_path, player=[plays(refused)]) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "failed", "auth")
        assert it.said[1].startswith("### Failed: a key or token was refused\n")
        assert "`anthropic-api-key`" in it.said[1]
        assert it.labels == ["autobuild", "autobuild:blocked"]
        assert it.commits == []


def test_a_player_that_is_cut_short_is_judged_and_the_next_one_is_told(tmp_path: Path) -> None:
    steps = [write(f"note{number}.txt", "x\n") for number in range(5)]
    with world(
        tmp_path,
        config="player-max-steps: 5\n",
        player=[plays(*steps), builds(expect=["cut short (steps)"])],
        coach=[objects(must_fix(WRONG)), approves(previous=resolved("I1.1.1"))],
    ) as it:
        step = it.label(inputs={"player-max-steps": "50"})
        it.check()
        assert (step.outputs["result"], step.outputs["turns"]) == ("approved", "2")
        assert "note4.txt" in it.files(0)
        assert "The Player gave no report." in it.asked("coach")[0].text
        assert posted_json(it.reviews[0])["sessions"][0]["why"] == "steps"


# --- Coaches that give no verdict -------------------------------------------------------------------


def test_an_answer_that_is_no_verdict_is_judged_anew_without_costing_a_turn(tmp_path: Path) -> None:
    prose = plays(Say("I approve, it is perfect. APPROVED!"), Say("As I said: approved."))
    made_up = met(1, evidence("file", "calc.py:999"), evidence("run", "R7"), evidence("check", "lint"))
    with world(
        tmp_path,
        player=[builds(REVERSED), builds()],
        coach=[
            prose,
            plays(verdict("feedback", unmet(), issues=[must_fix(WRONG)]), expect=["There was no structured verdict."]),
            plays(verdict("approve", made_up, previous=resolved("I1.1.1"))),
            plays(
                verdict("approve", met(), previous=resolved("I1.1.1")),
                expect=[f"`{ref}` of AC-1 does not resolve" for ref in ("file: calc.py:999", "run: R7", "check: lint")],
            ),
        ],
    ) as it:
        step = it.label()
        it.check()
        assert (step.outputs["result"], step.outputs["turns"]) == ("approved", "2")
        assert len(it.asked("player")) == 2
        coaches = it.asked("coach")
        assert [[commit in coach.text for commit in it.commits] for coach in coaches] == [
            [True, False],
            [True, False],
            [False, True],
            [False, True],
        ]
        assert len({coach.session_id for coach in coaches}) == 4
        assert "it is perfect" not in coaches[1].text
        assert len(it.reviews) == 2
        assert all("it is perfect" not in text for text in it.posted.values())


def test_a_second_answer_that_is_no_verdict_ends_the_run_and_says_why(tmp_path: Path) -> None:
    beside = plays(verdict("approve", unmet()))
    with world(
        tmp_path, player=[builds()], coach=[beside, plays(verdict("approve", met(1, evidence("run", "R1"))))]
    ) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "failed", "coach_error")
        assert "`approve` beside criterion AC-1, which is not_met." in it.asked("coach")[1].text
        assert it.said[1].startswith("### Failed: the Coach gave no verdict that counts\n")
        assert "R1" in it.said[1].partition("Why the last answer does not count")[2]
        assert it.reviews == []
        assert it.status() == ("error", "failed: no verdict that counts")
        assert it.pull.draft is True

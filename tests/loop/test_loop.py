"""The loop on fakes: what it comes to, and that a run which dies at any call loses and repeats nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from autobuild_action import journal as journals
from autobuild_action.effects import announced
from autobuild_action.errors import RefusedError, SupersededError, UnknownOutcomeError
from autobuild_action.loop import Run, play
from autobuild_action.model import (
    Baseline,
    CheckResult,
    Committed,
    Decision,
    Ended,
    Outcome,
    Previous,
    PreviousStatus,
    PullRequestMode,
    Reason,
    Why,
)
from autobuild_action.publisher import Publisher
from tests.support import build, facts
from tests.support.fakes import (
    PLACE,
    FakeForge,
    FakeLog,
    ScriptedChecker,
    ScriptedCoach,
    ScriptedPlayer,
    World,
    wired,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autobuild_action.model import AttemptStarted, Fact, Judged, Measured, Verdict

    Hook = Callable[[str, str, Mapping[str, Any]], None]

PLENTY = 4000.0
RESOLVED = Previous(issue="I1.1.1", status=PreviousStatus.RESOLVED)
NOT_PERMITTED = RefusedError(403, "GitHub Actions is not permitted to create or approve pull requests.")


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Script:
    """What the three roles do, and how the attempt is set up."""

    players: list[list[Fact]]
    coaches: list[Judged]
    checks: list[Measured]
    started: AttemptStarted = field(default_factory=facts.started)
    seconds: float = PLENTY


class Stage:
    """A world and the script that is played in it, run after run."""

    def __init__(self, script: Script, faults: Sequence[tuple[str, str, Exception]] = ()) -> None:
        self.world = World()
        self.script = script
        self.faults = list(faults)
        self.watchers: list[Hook] = []
        self.calls: list[tuple[str, str]] = []
        self.paid: list[tuple[int, bool]] = []
        self.warned: list[str] = []
        self.die_at: int | None = None

    def hook(self, name: str, when: str, keywords: Mapping[str, Any]) -> None:
        """Note the call; die where that was asked for."""
        if name == "implement" and when == "before":
            self.paid.append((self._turn(), self._is_committed()))
        self.calls.append((name, when))
        if self.die_at == len(self.calls):
            raise Crash
        for watcher in self.watchers:
            watcher(name, when, keywords)
        for fault in [fault for fault in self.faults if fault[:2] == (name, when)]:
            raise fault[2]

    def run(self, die_at: int | None = None, *, finish: bool = True) -> Outcome | None:
        """One process: what the composition root does around the loop. True to adapters/attempt.py."""
        self.calls, self.die_at = [], die_at
        log = wired(FakeLog(self.world), self.hook)
        publisher = Publisher(
            wired(FakeForge(self.world), self.hook),
            PLACE,
            lines=lambda _base, _head: {},
            warn=self.warned.append,
            inherited=log.journal,
        )
        if not log.journal.attempts:
            log.add(self.script.started, *announced(log.journal, [self.script.started]))
        outcome = None
        if log.journal.attempt.ended is None:
            publisher.show(log)
            if log.journal.attempt.baseline is None:
                log.add(Baseline(checks=(build.check(),)))
            outcome = play(self.cast(log, publisher))
            if not finish:
                return outcome
            number = log.journal.attempt.number
            ended = Ended(attempt=number, result=outcome.result, reason=outcome.reason)
            log.add(ended, *announced(log.journal, [ended]))
        publisher.show(log)
        log.add()
        return outcome

    def cast(self, log: Any, publisher: Publisher) -> Run:
        self.player = ScriptedPlayer(*self.script.players)
        self.coach = ScriptedCoach(*self.script.coaches)
        return Run(
            log=log,
            publisher=publisher,
            player=wired(self.player, self.hook),
            checker=wired(ScriptedChecker(self.world, *self.script.checks), self.hook),
            coach=wired(self.coach, self.hook),
            seconds_left=lambda: self.script.seconds,
        )

    @property
    def pushed(self) -> journals.Journal:
        return journals.loads(self.world.journal)

    def _turn(self) -> int:
        turns = self.pushed.attempt.turns
        return turns[-1].number + (turns[-1].change is not None) if turns else 1

    def _is_committed(self) -> bool:
        return any(isinstance(fact, Committed) and fact.turn == self._turn() for fact in self.pushed.facts)


def asking(turn: int) -> Verdict:
    return build.feedback(build.issue(id_=f"I1.{turn}.1", path=f"src/part_{turn}.py"))


def two_turns(mode: PullRequestMode = PullRequestMode.DRAFT) -> Script:
    """Feedback over a red check, then an approval."""
    return Script(
        players=[[build.player(1), build.committed(1)], [build.player(2), build.committed(2)]],
        coaches=[build.judged(1, asking(1)), build.judged(2, build.verdict(previous=[RESOLVED]))],
        checks=[build.measured(1, build.check(CheckResult.FAILED)), build.measured(2)],
        started=facts.started(mode=mode),
    )


def never_good_enough() -> Script:
    """Feedback to the turn limit."""
    return replace(two_turns(), coaches=[build.judged(1, asking(1)), build.judged(2, asking(2))], started=limit(2))


def limit(turns: int) -> AttemptStarted:
    return facts.started(max_turns=turns)


def with_trouble() -> Script:
    """A Player that crashes, a Coach without a verdict, a turn without a change, a dispute: then an approval."""
    disputed = replace(build.judged(3, build.verdict(previous=[RESOLVED])), commit=build.sha(1))
    return Script(
        players=[
            [build.player(1, why=Why.CRASH)],
            [build.player(1), build.committed(1)],
            [build.player(2), build.unchanged(2, build.sha(1))],
            [build.player(3), facts.disputing(3, build.sha(1))],
        ],
        coaches=[facts.coached(1, None, faults=["No criterion AC-9."]), build.judged(1, asking(1)), disputed],
        checks=[build.measured(1)],
    )


SCRIPTS: dict[str, Callable[[], Script]] = {
    "approved": two_turns,
    "blocked": never_good_enough,
    "on approval": lambda: two_turns(PullRequestMode.ON_APPROVAL),
    "trouble": with_trouble,
}


# --- whole runs -------------------------------------------------------------------------------------


def test_two_turns_are_played_in_this_order_and_everything_is_pushed_at_once() -> None:
    stage = Stage(two_turns())
    assert stage.run() == Outcome(reason=Reason.APPROVED)
    steps = [name for name, when in stage.calls if when == "before" and not name.startswith(("find", "note"))]
    assert steps == [
        *("add", "create_comment", "set_label", "add"),  # the start; the baseline
        *("implement", "add", "create_pull_request", "edit_comment"),
        *("measure", "add", "judge", "add", "weigh", "add"),
        *("create_review", "set_status", "edit_pull_request", "edit_comment"),
        *("implement", "add", "edit_pull_request", "edit_comment"),
        *("measure", "add", "judge", "add", "weigh", "add"),
        *("create_review", "set_status", "edit_pull_request", "edit_comment"),
        *("add", "set_label", "edit_pull_request", "set_draft", "ask_review", "edit_comment", "add"),
    ]
    assert stage.world.pushes == [
        ("attempt_started", "intent"),
        ("done", "baseline"),
        ("player_ended", "committed", "intent"),
        ("done", "measured"),
        ("judged",),
        ("decided", "intent"),
        ("done", "player_ended", "committed"),
        ("measured",),
        ("judged",),
        ("decided", "intent"),
        ("done", "ended"),
    ]
    assert stage.world.head == build.sha(2)
    assert stage.world.label == "autobuild:approved"
    assert [(pull.draft, pull.reviewers) for pull in stage.world.pulls] == [(False, ["ana"])]
    assert [note.commit for note in stage.world.reviews] == [build.sha(1), build.sha(2)]


def test_nothing_but_results_of_creations_waits_for_a_push_when_a_session_begins() -> None:
    stage = Stage(with_trouble())
    waiting: list[tuple[str, set[str]]] = []
    log = FakeLog(stage.world)

    def look(name: str, when: str, keywords: Mapping[str, Any]) -> None:
        del keywords
        if when == "before":
            new = log.journal.entries[len(stage.pushed.entries) :]
            waiting.append((name, {journals.KINDS[type(entry.fact)] for entry in new}))

    log.add(stage.script.started, Baseline(checks=()))
    publisher = Publisher(FakeForge(stage.world), PLACE, lines=lambda _base, _head: {}, warn=stage.warned.append)
    run = stage.cast(log, publisher)
    run = replace(run, player=wired(run.player, look), coach=wired(run.coach, look), checker=wired(run.checker, look))
    assert play(run).reason is Reason.APPROVED
    assert [name for name, _ in waiting] == [
        *("implement", "implement", "measure", "judge", "judge", "weigh"),
        *("implement", "implement", "judge", "weigh"),
    ]
    assert set().union(*(kinds for _, kinds in waiting)) <= {"done"}


def test_feedback_to_the_limit_ends_blocked() -> None:
    stage = Stage(never_good_enough())
    assert stage.run() == Outcome(reason=Reason.MAX_TURNS)
    assert stage.player.sessions == [1, 2]
    assert stage.world.label == "autobuild:blocked"
    assert [pull.draft for pull in stage.world.pulls] == [True]
    assert "create comment 1/0/report" in stage.world.writes


def test_trouble_is_borne_and_the_next_session_is_told() -> None:
    stage = Stage(with_trouble())
    assert stage.run() == Outcome(reason=Reason.APPROVED)
    assert stage.player.sessions == [1, 1, 2, 3]
    assert stage.coach.sessions == [
        (1, build.sha(1), ()),
        (1, build.sha(1), ("No criterion AC-9.",)),
        (3, build.sha(1), ()),
    ]
    assert len(stage.world.reviews) == 2


def test_a_red_check_keeps_an_approving_coach_from_approving() -> None:
    approving = [build.judged(turn, build.verdict()) for turn in (1, 2)]
    red = [build.measured(turn, build.check(CheckResult.FAILED)) for turn in (1, 2)]
    stage = Stage(replace(two_turns(), coaches=approving, checks=red, started=limit(2)))
    assert stage.run() == Outcome(reason=Reason.MAX_TURNS)
    decided = [turn.decided for turn in stage.pushed.attempt.turns]
    assert [found.decision for found in decided if found] == [Decision.FEEDBACK, Decision.FEEDBACK]


def test_a_branch_that_a_person_moved_is_superseded() -> None:
    stage = Stage(two_turns())

    def push_of_a_person(name: str, when: str, keywords: Mapping[str, Any]) -> None:
        del keywords
        if (name, when) == ("judge", "after"):
            stage.world.head = "99" * 20

    stage.watchers.append(push_of_a_person)
    outcome = stage.run()
    assert outcome
    assert outcome.reason is Reason.SUPERSEDED
    assert stage.world.head == "99" * 20
    assert stage.world.statuses[build.sha(1)][0] == "failure"


def test_a_journal_that_another_run_moved_stops_this_one() -> None:
    stage = Stage(two_turns())
    with pytest.raises(Crash):
        stage.run(die_at=20)
    late = FakeLog(stage.world)
    stage.run()
    after = stage.world.journal
    with pytest.raises(SupersededError):
        late.add(build.player(1))
    assert stage.world.journal == after


def test_the_time_of_the_run_ends_the_loop() -> None:
    stage = Stage(replace(two_turns(), seconds=59.0))
    assert stage.run() == Outcome(reason=Reason.TIMEOUT)
    assert stage.paid == []


def test_an_attempt_that_is_decided_needs_no_further_session() -> None:
    stage = Stage(two_turns())
    stage.run(finish=False)
    again = stage.run()
    assert again == Outcome(reason=Reason.APPROVED)
    assert [name for name, when in stage.calls if name in {"implement", "judge", "measure", "weigh"}] == []


# --- a run that dies --------------------------------------------------------------------------------


def unbroken(name: str, faults: Sequence[tuple[str, str, Exception]] = ()) -> Stage:
    stage = Stage(SCRIPTS[name](), faults)
    stage.run()
    return stage


def keys(stage: Stage) -> list[str]:
    """The markers of all that was created, and the number of pull requests."""
    notes = [*stage.world.comments, *stage.world.reviews]
    return [note.body.rsplit(" ", 2)[-2] for note in notes] + ["pull request"] * len(stage.world.pulls)


def check_rerun(stage: Stage, whole: Stage, died: tuple[str, str], before: tuple[str, str]) -> None:
    """The same end; nothing twice; a session again only where its work had not been pushed."""
    assert stage.world.state == whole.world.state
    assert len(keys(stage)) == len(set(keys(stage)))
    assert not any(committed for _, committed in stage.paid)
    lost = died == ("implement", "after") or (died == ("add", "before") and before == ("implement", "after"))
    asked = died == ("implement", "before")
    assert len(stage.paid) == len(whole.paid) + (lost or asked)
    kept = [fact for fact in stage.pushed.facts if not hasattr(fact, "key")]
    assert kept == [fact for fact in whole.pushed.facts if not hasattr(fact, "key")]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_run_that_dies_at_any_call_is_taken_up_to_the_same_end(name: str) -> None:
    whole = unbroken(name)
    assert len(whole.calls) >= 60
    for place in range(1, len(whole.calls) + 1):
        stage = Stage(SCRIPTS[name]())
        with pytest.raises(Crash):
            stage.run(die_at=place)
        died, before = whole.calls[place - 1], whole.calls[place - 2]
        assert stage.calls[-1] == died
        stage.run()
        check_rerun(stage, whole, died, before)


def test_two_deaths_in_a_row_do_no_harm() -> None:
    whole = unbroken("approved")
    calls = len(whole.calls)
    for first in range(1, calls + 1, 9):
        for second in range(1, calls + 1, 8):
            stage = Stage(two_turns())
            with pytest.raises(Crash):
                stage.run(die_at=first)
            try:
                stage.run(die_at=second)
            except Crash:
                stage.run()
            assert stage.world.state == whole.world.state
            assert len(keys(stage)) == len(set(keys(stage)))
            assert not any(committed for _, committed in stage.paid)


def test_a_run_that_dies_where_no_pull_request_may_be_opened_is_taken_up_to_the_same_end() -> None:
    refusal = [("create_pull_request", "before", NOT_PERMITTED)]
    whole = unbroken("approved", refusal)
    assert [key for key in keys(whole) if key == "pull request"] == []
    assert len(keys(whole)) == 4
    for place in range(1, len(whole.calls) + 1):
        stage = Stage(two_turns(), refusal)
        with pytest.raises(Crash):
            stage.run(die_at=place)
        stage.run()
        check_rerun(stage, whole, whole.calls[place - 1], whole.calls[place - 2])


class Loss:
    """The answer to one creation is lost, before it happened or after."""

    def __init__(self, number: int, when: str) -> None:
        self.left, self.when = number, when

    def __call__(self, name: str, when: str, keywords: Mapping[str, Any]) -> None:
        del keywords
        self.left -= name.startswith("create") and when == self.when
        if self.left == 0:
            self.left = -1
            raise UnknownOutcomeError("GitHub answered 502")


def creations(stage: Stage) -> int:
    return sum(name.startswith("create") and when == "before" for name, when in stage.calls)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_to_any_creation_leads_to_exactly_one_of_it(name: str, when: str) -> None:
    whole = unbroken(name)
    assert creations(whole) >= 4
    for number in range(1, creations(whole) + 1):
        stage = Stage(SCRIPTS[name]())
        stage.watchers.append(Loss(number, when))
        stage.run()
        assert stage.world.state == whole.world.state
        assert keys(stage) == keys(whole)

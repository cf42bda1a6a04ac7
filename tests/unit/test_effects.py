"""What GitHub still lacks is made in one order, each thing once, whatever GitHub answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from autobuild_action import effects
from autobuild_action import journal as journals
from autobuild_action.errors import AuthError, ForgeError, RefusedError, UnknownOutcomeError
from autobuild_action.model import RESULT_OF, CheckResult, Decision, Intent, PullRequestMode, Reason, Result, Why
from autobuild_action.place import marker
from autobuild_action.publisher import Publisher, phase
from autobuild_action.words import Phase
from tests.support import build, facts
from tests.support.fakes import BOT, PLACE, FakeForge, FakeLog, Note, World, wired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autobuild_action.model import Fact

NO_DRAFTS = RefusedError(422, "Draft pull requests are not supported in this repository.")
NOT_PERMITTED = RefusedError(403, "GitHub Actions is not permitted to create or approve pull requests.")
LINES = {"src/weather.py": (range(1, 41),)}
STATUS, PR, REVIEW = "1/0/status", "1/1/pull-request", "1/1/review"


@dataclass
class Stage:
    """A world with a journal, and a publisher whose forge may be disturbed."""

    world: World = field(default_factory=World)
    warned: list[str] = field(default_factory=list)
    faults: list[tuple[str, str, Exception]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.new_run()

    def new_run(self) -> None:
        """Another process: it knows what was pushed."""
        forge = wired(FakeForge(self.world), self.disturb)
        self.log = FakeLog(self.world)
        self.publisher = Publisher(
            forge, PLACE, lines=lambda _base, _head: LINES, warn=self.warned.append, inherited=self.log.journal
        )

    def disturb(self, name: str, when: str, keywords: Mapping[str, Any]) -> None:
        """The first fault that is named for this call happens, and is gone."""
        del keywords
        for fault in self.faults:
            if fault[:2] == (name, when):
                self.faults.remove(fault)
                raise fault[2]

    def after(self, *happened: Fact | Sequence[Fact]) -> list[str]:
        """What is written once these facts are in the journal."""
        before = len(self.world.writes)
        new = build.journal(*happened).facts
        self.log.add(*new, *effects.announced(self.log.journal, new))
        self.publisher.show(self.log)
        return self.world.writes[before:]

    def story(self, turn: Sequence[Fact], *end: Fact) -> None:
        """An attempt of one turn, shown whenever the loop shows it."""
        for facts_ in (start(), turn[:2], turn[2:], end):
            self.after(*facts_)

    @property
    def pushed(self) -> journals.Journal:
        return journals.loads(self.world.journal)


def start(mode: PullRequestMode = PullRequestMode.DRAFT, attempt: int = 1) -> list[Fact]:
    return [facts.started(attempt, mode=mode), build.approved().facts[1]]


TURN = build.approve_turn(1)
FEEDBACK = build.feedback_turn(1)


# --- the order --------------------------------------------------------------------------------------


def test_an_approval_in_two_turns_is_written_in_this_order() -> None:
    stage = Stage()
    assert stage.after(start()) == [f"create comment {STATUS}", "label autobuild:running"]
    assert stage.after(FEEDBACK[0], FEEDBACK[1]) == [
        "create draft to main",
        f"edit comment {STATUS}",
    ]
    assert stage.after(FEEDBACK[2]) == []
    assert stage.after(FEEDBACK[3]) == []
    assert stage.after(FEEDBACK[4]) == [
        f"create review {REVIEW} with 1 comments",
        "status failure on 01",
        "edit pull request",
        f"edit comment {STATUS}",
    ]
    second = build.feedback_then_approve().attempt.turns[1]
    assert second.change
    assert second.measured
    assert second.decided
    assert stage.after(second.sessions[0], second.change) == ["edit pull request", f"edit comment {STATUS}"]
    assert stage.after(second.measured, second.judgements[0], second.decided) == [
        "create review 1/2/review with 0 comments",
        "status success on 02",
        "edit pull request",
        f"edit comment {STATUS}",
    ]
    assert stage.after(build.ended(Reason.APPROVED)) == [
        "label autobuild:approved",
        "edit pull request",
        "to ready",
        "ask ana",
        f"edit comment {STATUS}",
    ]
    (pull,) = stage.world.pulls
    assert (pull.draft, pull.reviewers, pull.branch) == (False, ["ana"], "autobuild/issue-7")
    assert [note.commit for note in stage.world.reviews] == [build.sha(1), build.sha(2)]
    assert stage.warned == []


def test_a_blocked_attempt_is_written_in_this_order_and_stays_a_draft() -> None:
    stage = Stage()
    stage.after(start(), FEEDBACK)
    assert stage.after(build.ended(Reason.MAX_TURNS)) == [
        "label autobuild:blocked",
        "edit pull request",
        "create comment 1/0/report",
        "status failure on 01",
        f"edit comment {STATUS}",
    ]
    assert stage.world.pulls[0].draft
    assert stage.world.statuses[build.sha(1)][0] == "failure"


def test_without_drafts_everything_waits_for_the_approval() -> None:
    stage = Stage()
    written = stage.after(start(PullRequestMode.ON_APPROVAL), FEEDBACK)
    assert written == [f"create comment {STATUS}", "label autobuild:running", "status failure on 01"]
    second = build.feedback_then_approve().facts[9:14]
    assert stage.after(second) == ["status success on 02", f"edit comment {STATUS}"]
    assert stage.after(build.ended(Reason.APPROVED)) == [
        "label autobuild:approved",
        "create pull request to main",
        f"create review {REVIEW} with 1 comments",
        "status failure on 01",
        "create review 1/2/review with 0 comments",
        "status success on 02",
        "to ready",
        "ask ana",
        f"edit comment {STATUS}",
    ]
    assert [note.commit for note in stage.world.reviews] == [build.sha(1), build.sha(2)]
    assert not stage.world.pulls[0].draft


def test_without_drafts_a_blocked_attempt_has_no_pull_request() -> None:
    stage = Stage()
    stage.after(start(PullRequestMode.ON_APPROVAL), FEEDBACK, build.ended(Reason.STALLED))
    assert stage.world.pulls == []
    assert stage.world.writes == [
        f"create comment {STATUS}",
        "label autobuild:blocked",
        "status failure on 01",
        "create comment 1/0/report",
        "status failure on 01",
    ]


def test_an_attempt_without_a_commit_has_a_report_and_no_commit_status() -> None:
    stage = Stage()
    failed = build.player(1, why=Why.AUTH)
    assert stage.after(start(), failed, build.ended(Reason.AUTH)) == [
        f"create comment {STATUS}",
        "label autobuild:blocked",
        "create comment 1/0/report",
    ]


def test_a_turn_without_a_change_is_shown_by_the_status_comment_only() -> None:
    stage = Stage()
    stage.after(start())
    assert stage.after(build.player(1), build.unchanged(1)) == [f"edit comment {STATUS}"]


def test_a_failed_session_and_a_refused_answer_of_the_coach_show_nothing_new() -> None:
    stage = Stage()
    stage.after(start())
    assert stage.after(build.player(1, why=Why.CRASH)) == []
    stage.after(build.player(1), build.committed(1), build.measured(1))
    assert stage.after(facts.coached(1, None, faults=["no verdict"])) == []


def test_a_disputed_commit_gets_a_review_of_its_own() -> None:
    stage = Stage()
    stage.after(start(), FEEDBACK)
    again = replace(build.judged(2, build.verdict()), commit=build.sha(1))
    written = stage.after(build.player(2), facts.disputing(2, build.sha(1)), again, build.decided(2, Decision.APPROVE))
    assert written == [
        "create review 1/2/review with 0 comments",
        "status success on 01",
        "edit pull request",
        f"edit comment {STATUS}",
    ]
    assert stage.world.reviews[1].commit == build.sha(1)
    assert stage.world.statuses[build.sha(1)][0] == "success"


def test_a_retry_retires_the_old_status_and_makes_the_pull_request_a_draft_again() -> None:
    stage = Stage()
    stage.after(start(), TURN, build.ended(Reason.APPROVED))
    assert [pull.draft for pull in stage.world.pulls] == [False]
    stage.new_run()
    assert stage.after(start(attempt=2)) == [
        "create comment 2/0/status",
        "label autobuild:running",
        f"edit comment {STATUS}",
        "to draft",
    ]
    old, new = stage.world.comments
    assert old.body.endswith(f"goes on from here.\n\n{marker(build.JOURNAL, STATUS)}")
    assert f"[Attempt 2](https://github.example/octo-org/weather/issues/7#{new.id})" in old.body
    assert [pull.draft for pull in stage.world.pulls] == [True]
    assert stage.after(build.feedback_turn(1)) == [
        "create review 2/1/review with 1 comments",
        "status failure on 01",
        "edit pull request",
        "edit comment 2/0/status",
    ]
    assert stage.after(build.ended(Reason.MAX_TURNS, attempt=2)) == [
        "label autobuild:blocked",
        "edit pull request",
        "create comment 2/0/report",
        "status failure on 01",
        "edit comment 2/0/status",
    ]
    assert len(stage.world.pulls) == 1


def test_a_second_run_of_the_same_attempt_creates_nothing_again() -> None:
    stage = Stage()
    stage.story(TURN, build.ended(Reason.APPROVED))
    stage.log.add()
    before = stage.world.state
    stage.new_run()
    stage.publisher.show(stage.log)
    assert stage.world.state == before
    assert not [write for write in stage.world.writes[10:] if write.startswith("create")]


def test_what_was_shown_is_not_sent_again() -> None:
    stage = Stage()
    stage.story(TURN)
    assert stage.after() == []


# --- labels and reasons ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reasons", "label", "report", "status"),
    [
        ([Reason.APPROVED], "autobuild:approved", False, "success"),
        (
            [
                Reason.MAX_TURNS,
                Reason.STALLED,
                Reason.UNSAFE_REQUEST,
                Reason.BUDGET,
                Reason.TIMEOUT,
                Reason.STOPPED,
                Reason.SUPERSEDED,
            ],
            "autobuild:blocked",
            True,
            "failure",
        ),
        ([Reason.NEEDS_CLARIFICATION], "autobuild:needs-info", True, "failure"),
        (
            [
                Reason.ENVIRONMENT,
                Reason.AUTH,
                Reason.MODEL_UNAVAILABLE,
                Reason.PLAYER_ERROR,
                Reason.COACH_ERROR,
                Reason.INTERNAL,
                Reason.CANCELLED,
            ],
            "autobuild:blocked",
            True,
            "error",
        ),
    ],
)
def test_every_end_has_its_label_report_and_commit_status(
    reasons: list[Reason], label: str, status: str, *, report: bool
) -> None:
    for reason in reasons:
        stage = Stage()
        turn = TURN if reason is Reason.APPROVED else FEEDBACK
        stage.after(start(), turn, build.ended(reason))
        assert stage.world.label == label
        assert ("create comment 1/0/report" in stage.world.writes) is report
        assert stage.world.statuses[build.sha(1)][0] == status


def test_a_fault_of_the_configuration_leaves_label_and_commit_status_alone() -> None:
    stage = Stage()
    stage.after(start(), build.player(1), build.committed(1))
    assert stage.after(build.ended(Reason.CONFIGURATION)) == [
        "label None",
        "edit pull request",
        "create comment 1/0/report",
        f"edit comment {STATUS}",
    ]


@pytest.mark.parametrize("reason", [Reason.PLANNED, Reason.IGNORED])
def test_an_end_that_is_none_of_the_work_has_no_label_and_no_report(reason: Reason) -> None:
    stage = Stage()
    stage.after(start(), build.ended(reason))
    assert stage.world.label is None
    assert stage.world.writes == [f"create comment {STATUS}", "label None"]


def test_at_most_one_of_our_labels_is_for_each_reason() -> None:
    for reason in Reason:
        found = effects.label(facts.attempt(build.ended(reason)))
        assert found is None or found in effects.OUR_LABELS
        assert (found is None) == (RESULT_OF[reason] in {Result.PLANNED, Result.IGNORED} or reason == "configuration")
    assert set(effects.OUR_LABELS) == {
        "autobuild:running",
        "autobuild:approved",
        "autobuild:blocked",
        "autobuild:needs-info",
    }


# --- what GitHub refuses -----------------------------------------------------------------------------


def test_where_drafts_are_refused_the_pull_request_waits_for_the_approval() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NO_DRAFTS)])
    assert stage.after(start(), FEEDBACK) == [
        f"create comment {STATUS}",
        "label autobuild:running",
        "status failure on 01",
    ]
    assert stage.warned == [
        "GitHub refused to create the pull-request: Draft pull requests are not supported in this repository."
    ]
    second = build.feedback_then_approve().facts[9:14]
    stage.after(second)
    assert stage.world.pulls == []
    assert stage.after(build.ended(Reason.APPROVED)) == [
        "label autobuild:approved",
        "create pull request to main",
        f"create review {REVIEW} with 1 comments",
        "status failure on 01",
        "create review 1/2/review with 0 comments",
        "status success on 02",
        "to ready",
        "ask ana",
        f"edit comment {STATUS}",
    ]
    assert not stage.world.pulls[0].draft


def test_drafts_that_were_refused_are_not_asked_for_again_by_a_later_run_or_attempt() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NO_DRAFTS)])
    stage.after(start(), FEEDBACK, build.ended(Reason.MAX_TURNS))
    stage.log.add()
    stage.new_run()
    stage.after(start(attempt=2), build.feedback_turn(1))
    assert stage.world.pulls == []
    assert len(stage.warned) == 1


def test_an_approval_in_the_turn_in_which_drafts_were_refused_opens_the_pull_request() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NO_DRAFTS)])
    stage.after(start(), TURN, build.ended(Reason.APPROVED))
    assert [pull.draft for pull in stage.world.pulls] == [False]
    assert len(stage.world.reviews) == 1


def test_where_no_pull_request_may_be_opened_the_reviews_are_comments_and_the_end_says_what_to_do() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NOT_PERMITTED)])
    assert stage.after(start(), FEEDBACK) == [
        f"create comment {STATUS}",
        "label autobuild:running",
        f"create comment {REVIEW}",
        "status failure on 01",
    ]
    second = build.feedback_then_approve().facts[9:14]
    stage.after(second)
    assert stage.after(build.ended(Reason.APPROVED)) == [
        "label autobuild:approved",
        "create comment 1/0/approved",
        f"edit comment {STATUS}",
    ]
    assert stage.world.pulls == []
    assert stage.world.reviews == []
    last = stage.world.comments[-1].body
    assert "https://github.example/octo-org/weather/compare/main...autobuild/issue-7?expand=1" in last
    assert [note.body.rsplit(" ", 2)[-2] for note in stage.world.comments] == [
        STATUS,
        REVIEW,
        "1/2/review",
        "1/0/approved",
    ]
    assert len(stage.warned) == 1


def test_a_retry_asks_once_more_for_the_pull_request_that_was_not_permitted() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NOT_PERMITTED)])
    stage.after(start(), FEEDBACK, build.ended(Reason.MAX_TURNS))
    stage.log.add()
    stage.new_run()
    written = stage.after(start(attempt=2), build.feedback_turn(1))
    assert "create draft to main" in written
    assert "create review 2/1/review with 1 comments" in written
    assert "create comment 2/1/review" not in written


def test_a_pull_request_that_a_person_opened_meanwhile_is_taken_over() -> None:
    stage = Stage(faults=[("create_pull_request", "before", NOT_PERMITTED)])
    stage.after(start(), FEEDBACK, build.ended(Reason.MAX_TURNS))
    stage.log.add()
    FakeForge(stage.world, "ana").create_pull_request(
        branch="autobuild/issue-7", base="main", title="Mine", body="", draft=False
    )
    stage.new_run()
    stage.after(start(attempt=2), build.feedback_turn(1))
    assert [pull.title for pull in stage.world.pulls] == ["Mine"]
    assert len(stage.world.reviews) == 1


def test_a_refused_place_of_a_comment_sends_everything_in_the_body() -> None:
    stage = Stage(faults=[("create_review", "before", RefusedError(422, "Line could not be resolved"))])
    stage.after(start(), FEEDBACK)
    assert f"create review {REVIEW} with 0 comments" in stage.world.writes
    assert "An unknown city ends with exit code 0 and a traceback." in stage.world.reviews[0].body
    assert stage.warned == []


def test_a_review_that_was_made_although_its_answer_was_a_refusal_is_not_made_twice() -> None:
    stage = Stage(faults=[("create_review", "after", RefusedError(422, "Line could not be resolved"))])
    stage.after(start(), FEEDBACK)
    assert len(stage.world.reviews) == 1


def test_a_review_that_is_refused_for_another_reason_is_said_and_not_tried_again() -> None:
    stage = Stage(faults=[("create_review", "before", RefusedError(403, "Locked"))])
    stage.after(start(), FEEDBACK)
    assert stage.warned == ["GitHub refused to create the review: Locked"]
    stage.log.add()
    stage.new_run()
    stage.publisher.show(stage.log)
    assert stage.world.reviews == []


@pytest.mark.parametrize("method", ["set_label", "set_status", "edit_pull_request", "ask_review", "set_draft"])
def test_a_state_that_is_refused_is_said_once_and_done_without(method: str) -> None:
    stage = Stage(faults=[(method, "before", RefusedError(403, "Resource not accessible"))])
    stage.story(TURN, build.ended(Reason.APPROVED))
    assert len(stage.warned) == 1
    assert stage.warned[0].endswith(": Resource not accessible")
    assert stage.after() == []
    assert "create review 1/1/review with 0 comments" in stage.world.writes
    assert stage.world.writes[-1] == f"edit comment {STATUS}"


def test_what_must_be_said_and_is_refused_ends_the_run() -> None:
    stage = Stage(faults=[("create_comment", "before", RefusedError(403, "Resource not accessible"))])
    with pytest.raises(RefusedError, match="Resource not accessible"):
        stage.after(start())
    late = Stage()
    late.after(start(), FEEDBACK)
    late.faults.append(("create_comment", "before", RefusedError(410, "Issues are disabled")))
    with pytest.raises(RefusedError, match="Issues are disabled"):
        late.after(build.ended(Reason.MAX_TURNS))


def test_a_token_that_expired_is_not_swallowed() -> None:
    stage = Stage(faults=[("set_label", "before", AuthError("GitHub does not accept the token (401)."))])
    with pytest.raises(AuthError):
        stage.after(start())


# --- answers that leave it open ----------------------------------------------------------------------

LOST = UnknownOutcomeError("GitHub answered 502")
CREATES = ["create_comment", "create_pull_request", "create_review"]


def unbroken() -> tuple[object, ...]:
    stage = Stage()
    stage.story(FEEDBACK, build.ended(Reason.MAX_TURNS))
    return stage.world.state


@pytest.mark.parametrize("method", CREATES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_leads_to_exactly_one_creation(method: str, when: str) -> None:
    stage = Stage(faults=[(method, when, LOST)])
    stage.story(FEEDBACK, build.ended(Reason.MAX_TURNS))
    assert stage.faults == []
    assert stage.world.state == unbroken()


@pytest.mark.parametrize("method", CREATES)
def test_two_lost_answers_are_borne_and_three_end_the_run(method: str) -> None:
    stage = Stage(faults=[(method, "before", LOST)] * 2)
    stage.story(FEEDBACK, build.ended(Reason.MAX_TURNS))
    assert stage.world.state == unbroken()
    never = Stage(faults=[(method, "before", LOST)] * 3)
    with pytest.raises(UnknownOutcomeError):
        never.story(FEEDBACK, build.ended(Reason.MAX_TURNS))


@pytest.mark.parametrize("method", CREATES)
def test_what_was_made_before_a_run_was_lost_is_found_by_the_next_one(method: str) -> None:
    """Made, then neither the answer nor the search for it came through: only the intent is on record."""
    finder = method.replace("create", "find")
    stage = Stage(faults=[(method, "after", LOST), (finder, "before", ForgeError("GitHub could not be reached"))])
    with pytest.raises(ForgeError):
        stage.story(FEEDBACK, build.ended(Reason.MAX_TURNS))
    stage.new_run()
    missing = [
        fact for fact in [*start(), *FEEDBACK, build.ended(Reason.MAX_TURNS)] if fact not in stage.log.journal.facts
    ]
    stage.publisher.show(stage.log)
    stage.after(*[fact for fact in missing if fact in FEEDBACK])
    stage.after(*missing[-1:])
    assert stage.world.state == unbroken()


def test_a_pull_request_whose_creation_was_lost_by_an_attempt_is_found_by_the_next_attempt() -> None:
    gone = ("find_pull_request", "before", ForgeError("GitHub could not be reached"))
    stage = Stage(faults=[("create_pull_request", "after", LOST), gone])
    with pytest.raises(ForgeError):
        stage.after(start(), build.player(1), build.committed(1))
    stage.new_run()
    stage.log.add(build.ended(Reason.ENVIRONMENT))
    stage.after(start(attempt=2), build.feedback_turn(1))
    assert len(stage.world.pulls) == 1
    assert len(stage.world.reviews) == 1


@pytest.mark.parametrize("method", CREATES)
def test_what_was_made_before_the_loop_broke_off_is_found_when_the_same_run_reports_its_end(method: str) -> None:
    finder = method.replace("create", "find")
    stage = Stage(faults=[(method, "after", LOST), (finder, "before", ForgeError("GitHub could not be reached"))])
    with pytest.raises(ForgeError):
        stage.story(FEEDBACK)
    stage.after(build.ended(Reason.ENVIRONMENT))
    notes = [*stage.world.comments, *stage.world.reviews]
    keys = [note.body.rsplit(" ", 2)[-2] for note in notes]
    assert len(keys) == len(set(keys))
    assert len(stage.world.pulls) <= 1
    assert stage.warned == []


@pytest.mark.parametrize("method", ["set_label", "set_status", "edit_pull_request", "edit_comment"])
def test_a_state_is_tried_three_times_and_then_done_without(method: str) -> None:
    twice = Stage(faults=[(method, "after", LOST)] * 2)
    twice.story(FEEDBACK)
    assert twice.warned == []
    thrice = Stage(faults=[(method, "before", LOST)] * 3)
    thrice.story(FEEDBACK)
    (said,) = thrice.warned
    assert said.endswith("could not be brought up to date: GitHub answered 502")
    assert thrice.faults == []


def test_an_intent_is_pushed_before_every_creation() -> None:
    seen: list[tuple[str, str, bool]] = []
    stage = Stage()

    def look(name: str, when: str, keywords: Mapping[str, Any]) -> None:
        del keywords
        if name.startswith("create") and when == "before":
            due = next(effect for effect in effects.due(stage.log.journal, ()) if isinstance(effect, effects.Create))
            seen.append((name, due.key, stage.pushed.intended(due.key)))

    stage.publisher = Publisher(wired(FakeForge(stage.world), look), PLACE, lines=lambda _b, _h: {}, warn=print)
    stage.after(start(), FEEDBACK, build.ended(Reason.MAX_TURNS))
    assert seen == [
        ("create_comment", STATUS, True),
        ("create_pull_request", PR, True),
        ("create_review", REVIEW, True),
        ("create_comment", "1/0/report", True),
    ]


def test_facts_announce_each_creation_they_make_due_once() -> None:
    begun = build.journal(start(), Intent(key=STATUS), TURN[0])
    assert effects.announced(begun, [TURN[1]]) == (Intent(key=PR),)
    done = build.journal(start(), TURN, build.opened())
    assert effects.announced(done, [build.ended(Reason.MAX_TURNS)]) == (
        Intent(key=STATUS),
        Intent(key=REVIEW),
        Intent(key="1/0/report"),
    )
    assert effects.announced(build.journal(), start()[:1]) == (Intent(key=STATUS),)


# --- other people's markers --------------------------------------------------------------------------


def test_a_strangers_comment_with_our_marker_does_not_count() -> None:
    stage = Stage()
    key = marker(build.JOURNAL, STATUS)
    stage.world.comments.append(Note(id=1, author="mallory", body=f"Approved!\n\n{key}"))
    stage.world.reviews.append(Note(id=2, author="mallory", body=marker(build.JOURNAL, REVIEW)))
    stage.faults = [("create_comment", "before", LOST), ("create_review", "before", LOST)]
    stage.after(start(), FEEDBACK)
    assert [note.author for note in stage.world.comments] == ["mallory", BOT]
    assert [note.author for note in stage.world.reviews] == ["mallory", BOT]
    assert stage.world.comments[0].body == f"Approved!\n\n{key}"


def test_our_own_marker_of_another_journal_does_not_count() -> None:
    stage = Stage()
    other = marker("11111111-0000-0000-0000-000000000000", STATUS)
    stage.world.comments.append(Note(id=1, author=BOT, body=other))
    stage.faults = [("create_comment", "before", LOST)]
    stage.after(start())
    assert len(stage.world.comments) == 2
    assert stage.world.comments[0].body == other


# --- what the attempt is doing -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("happened", "now"),
    [
        ([build.started()], Phase.STARTING),
        (start(), Phase.PLAYER),
        ([*start(), build.player(1, why=Why.CRASH)], Phase.PLAYER),
        ([*start(), *TURN[:2]], Phase.CHECKS),
        ([*start(), *TURN[:3]], Phase.COACH),
        ([*start(), *TURN[:4]], Phase.COACH),
        ([*start(), *FEEDBACK], Phase.PLAYER),
        ([*start(), *TURN], Phase.FINISHING),
        ([*start(), build.player(1), build.unchanged(1)], Phase.PLAYER),
    ],
)
def test_the_phase_is_what_comes_next(happened: list[Fact], now: Phase) -> None:
    assert phase(build.journal(*happened)) is now


def test_the_pull_requests_number_is_that_github_gave() -> None:
    assert effects.number(build.approved()) == 12
    assert effects.number(build.journal(build.started())) is None
    refused = build.journal(build.started(), build.opened(None, refused="not permitted"))
    assert effects.number(refused) is None
    assert effects.may_not_open(refused)
    assert not effects.may_not_open(build.approved())
    assert not refused.refused_draft


def test_the_fixture_turns_are_what_they_say() -> None:
    """The order above rests on them: one commit each, a red check under the feedback."""
    red, green = build.journal(start(), FEEDBACK).attempt, build.journal(start(), TURN).attempt
    assert red.turns[0].measured
    assert red.turns[0].measured.checks[0].result is CheckResult.FAILED
    assert green.turns[0].decided
    assert green.turns[0].decided.decision is Decision.APPROVE

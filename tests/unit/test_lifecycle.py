"""What a label or a retry means in each state of an issue (docs/design.md, "Life cycle")."""

from __future__ import annotations

import pytest

from autobuild_action.lifecycle import Answer, GoOn, PullState, Start, admit
from autobuild_action.model import RESULT_OF, Command, Reason, Result
from tests.support import build
from tests.support.fakes import PLACE

NONE, OPEN, CLOSED, MERGED = PullState.NONE, PullState.OPEN, PullState.CLOSED, PullState.MERGED
PULL = "https://github.example/octo-org/weather/pull/12"
COMPARE = "https://github.example/octo-org/weather/compare/main...autobuild/issue-7?expand=1"
STOPPED = [reason for reason in Reason if RESULT_OF[reason] in {Result.BLOCKED, Result.FAILED}]
EMPTY = build.journal(Command(comment_id=1, login="ana", text=""))
NOT_PERMITTED = build.journal(
    build.started(), build.approve_turn(1), build.opened(None, refused="no"), build.ended(Reason.APPROVED)
)


def meaning(
    journal: object, pull: PullState = OPEN, *, retry: bool = True, news: bool = False
) -> Start | GoOn | Answer:
    return admit(journal, place=PLACE, pull=pull, retry=retry, news=news)  # type: ignore[arg-type]


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize("news", [True, False])
def test_with_nothing_yet_both_build(*, retry: bool, news: bool) -> None:
    assert meaning(None, NONE, retry=retry, news=news) == Start()
    assert meaning(EMPTY, NONE, retry=retry, news=news) == Start()


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize("pull", [NONE, OPEN, CLOSED])
def test_an_attempt_whose_run_died_is_taken_up(pull: PullState, *, retry: bool) -> None:
    assert meaning(build.running(), pull, retry=retry) == GoOn()


@pytest.mark.parametrize("reason", STOPPED)
@pytest.mark.parametrize("pull", [NONE, OPEN, CLOSED])
def test_a_blocked_or_failed_attempt_is_followed_by_a_new_one(reason: Reason, pull: PullState) -> None:
    for retry in (True, False):
        assert meaning(build.ended_by(reason), pull, retry=retry) == Start()


def test_a_label_on_approved_work_is_answered_with_the_link() -> None:
    answer = meaning(build.approved(), retry=False, news=True)
    assert isinstance(answer, Answer)
    assert answer.text.startswith(f"This is approved already and waits for a person: [the pull request]({PULL}).")


def test_a_retry_of_approved_work_needs_something_new() -> None:
    assert meaning(build.approved(), news=True) == Start()
    answer = meaning(build.approved())
    assert isinstance(answer, Answer)
    assert answer.text.startswith(f"[The pull request]({PULL}) is approved already, and there is nothing new")


def test_approved_work_without_a_pull_request_is_linked_by_the_page_that_opens_one() -> None:
    for retry in (True, False):
        answer = meaning(NOT_PERMITTED, NONE, retry=retry)
        assert isinstance(answer, Answer)
        assert f"({COMPARE})" in answer.text


@pytest.mark.parametrize("retry", [True, False])
def test_approved_work_whose_pull_request_was_closed_is_taken_up_again(*, retry: bool) -> None:
    assert meaning(build.approved(), CLOSED, retry=retry) == Start()


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize("news", [True, False])
def test_merged_work_is_over(*, retry: bool, news: bool) -> None:
    for journal in (build.approved(), build.blocked(), build.running()):
        answer = meaning(journal, MERGED, retry=retry, news=news)
        assert isinstance(answer, Answer)
        assert answer.text.startswith("This was merged in #12, ")


def test_the_last_attempt_is_the_one_that_counts() -> None:
    again = build.journal(build.approved().facts, build.started(2))
    assert meaning(again, retry=False) == GoOn()
    blocked = build.journal(build.approved().facts, build.started(2), build.ended(Reason.STOPPED, attempt=2))
    assert meaning(blocked, retry=False) == Start()


@pytest.mark.parametrize("retry", [True, False])
def test_something_new_for_an_attempt_whose_run_died_begins_another(*, retry: bool) -> None:
    assert meaning(build.running(), retry=retry, news=True) == Start()

"""Every end has its exit status, and every error says what happened and what to do."""

from __future__ import annotations

import pytest

from autobuild_action import errors
from autobuild_action.errors import AutobuildError, RefusedError, action_exit, cli_exit
from autobuild_action.model import RESULT_OF, Reason, Result

TABLE = {  # docs/design.md, "Results": reason -> result, the action's exit, the command line's exit
    "approved": ("approved", 0, 0),
    "max_turns": ("blocked", 0, 2),
    "stalled": ("blocked", 0, 2),
    "needs_clarification": ("blocked", 0, 2),
    "unsafe_request": ("blocked", 0, 2),
    "budget": ("blocked", 0, 2),
    "timeout": ("blocked", 0, 2),
    "stopped": ("blocked", 0, 2),
    "superseded": ("blocked", 0, 2),
    "configuration": ("failed", 1, 3),
    "environment": ("failed", 1, 4),
    "auth": ("failed", 1, 4),
    "model_unavailable": ("failed", 1, 4),
    "player_error": ("failed", 1, 1),
    "coach_error": ("failed", 1, 1),
    "internal": ("failed", 1, 1),
    "cancelled": ("failed", 1, 130),
    "planned": ("planned", 0, 0),
    "ignored": ("ignored", 0, 0),
}
REASONS = {
    errors.AutobuildError: Reason.INTERNAL,
    errors.ConfigurationError: Reason.CONFIGURATION,
    errors.SetupError: Reason.ENVIRONMENT,
    errors.ForgeError: Reason.ENVIRONMENT,
    errors.AuthError: Reason.AUTH,
    errors.JournalError: Reason.ENVIRONMENT,
    errors.SupersededError: Reason.SUPERSEDED,
    errors.ClarificationError: Reason.NEEDS_CLARIFICATION,
    errors.CancelledRunError: Reason.CANCELLED,
    errors.RunningError: Reason.IGNORED,
    errors.UnknownOutcomeError: Reason.ENVIRONMENT,
    errors.PushRefusedError: Reason.ENVIRONMENT,
}


def test_every_reason_is_in_the_table() -> None:
    assert set(TABLE) == {reason.value for reason in Reason}


@pytest.mark.parametrize("reason", Reason)
def test_every_end_has_its_exit_status(reason: Reason) -> None:
    result, action, line = TABLE[reason.value]
    assert RESULT_OF[reason] == result
    assert action_exit(RESULT_OF[reason], fail_on_blocked=False) == action
    assert cli_exit(reason, RESULT_OF[reason]) == line


@pytest.mark.parametrize("result", Result)
def test_a_blocked_run_is_red_only_where_that_was_asked_for(result: Result) -> None:
    expected = {"blocked": 1, "failed": 1}.get(result.value, 0)
    assert action_exit(result, fail_on_blocked=True) == expected


@pytest.mark.parametrize("kind", REASONS)
def test_every_error_has_its_reason_and_both_sentences(kind: type[AutobuildError]) -> None:
    error = kind("It broke.", "Mend it.")
    assert (error.reason, error.what, error.cure) == (REASONS[kind], "It broke.", "Mend it.")
    assert str(error) == "It broke. Mend it."
    assert str(kind("It broke.")) == "It broke."


def test_no_error_is_left_out() -> None:
    found = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AutobuildError)}
    assert found == {*REASONS, RefusedError}


def test_a_refusal_keeps_the_status_and_githubs_words() -> None:
    error = RefusedError(422, "Validation Failed")
    assert (error.status, error.what, error.reason) == (422, "Validation Failed", Reason.ENVIRONMENT)


def test_a_cure_after_a_list_of_faults_has_a_line_of_its_own() -> None:
    assert (
        str(errors.ConfigurationError("Wrong:\n- one\n- two", "Correct them.")) == "Wrong:\n- one\n- two\nCorrect them."
    )
    assert str(errors.ConfigurationError("It is wrong.", "Correct it.")) == "It is wrong. Correct it."

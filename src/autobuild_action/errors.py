"""The errors that end a run: each says what happened and what to do, and carries its reason."""

from __future__ import annotations

from autobuild_action.model import Reason, Result

CLI_EXIT: dict[Reason, int] = {
    Reason.APPROVED: 0,
    Reason.PLANNED: 0,
    Reason.IGNORED: 0,
    Reason.CONFIGURATION: 3,
    Reason.ENVIRONMENT: 4,
    Reason.AUTH: 4,
    Reason.MODEL_UNAVAILABLE: 4,
    Reason.CANCELLED: 130,
}
"""Exit status on the command line; what is not listed is 2 when blocked and 1 when failed."""


def cli_exit(reason: Reason, result: Result) -> int:
    """The command line's exit status for an end (docs/design.md, "Results")."""
    return CLI_EXIT.get(reason, 2 if result is Result.BLOCKED else 1)


def action_exit(result: Result, *, fail_on_blocked: bool) -> int:
    """The action's exit status: red for failures, and for blocked runs where that was asked for."""
    return int(result is Result.FAILED or (fail_on_blocked and result is Result.BLOCKED))


class AutobuildError(Exception):
    """Something that ends the run; ``what`` happened and the ``cure``, both for people."""

    reason = Reason.INTERNAL

    def __init__(self, what: str, cure: str = "") -> None:
        """Keep both sentences; ``cure`` may be empty where the reason's own text says enough."""
        super().__init__(f"{what}{chr(10) if chr(10) in what else ' '}{cure}".strip())
        self.what = what
        self.cure = cure


class ConfigurationError(AutobuildError):
    """An input, the configuration file or the issue's front matter is wrong; lists every fault."""

    reason = Reason.CONFIGURATION


class SetupError(AutobuildError):
    """The place the run needs is not there: no check, a failing set-up, a sandbox that leaks."""

    reason = Reason.ENVIRONMENT


class ForgeError(SetupError):
    """GitHub refused or could not be reached; ``what`` quotes it."""


class AuthError(AutobuildError):
    """A key or token is missing, wrong or expired."""

    reason = Reason.AUTH


class JournalError(SetupError):
    """The journal is unreadable or of a newer version."""


class SupersededError(AutobuildError):
    """Somebody else moved the branch; their work is kept and ours stops."""

    reason = Reason.SUPERSEDED


class ClarificationError(AutobuildError):
    """The issue does not say enough to start; ``fail_on_blocked`` is the setting, once it was read."""

    reason = Reason.NEEDS_CLARIFICATION
    fail_on_blocked = False


class CancelledRunError(AutobuildError):
    """The run was told to stop by a signal."""

    reason = Reason.CANCELLED


class RunningError(AutobuildError):
    """Another run holds the lease; nothing is wrong and nothing is to be done."""

    reason = Reason.IGNORED


class RefusedError(ForgeError):
    """GitHub refused one request; ``status`` is HTTP's and ``what`` GitHub's own words."""

    def __init__(self, status: int, what: str) -> None:
        """Keep the status, so that a caller can tell a missing thing from a forbidden one."""
        super().__init__(what)
        self.status = status


class UnknownOutcomeError(ForgeError):
    """A write may or may not have happened: the connection broke or the server failed."""


class PushRefusedError(ForgeError):
    """The git server refused a push; ``what`` quotes it."""

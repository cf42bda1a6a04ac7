"""What GitHub still lacks of what the journal says, as data; the publisher makes it, one effect after the other.

A *creation* happens once: its key goes into the journal before it and GitHub's id after it. A *state* (a text, a
label, a status) may be set again without harm; its version only saves requests within one run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from autobuild_action.model import Intent, PullRequestMode, Reason, Result, RunId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from autobuild_action.journal import Journal
    from autobuild_action.model import Attempt, Fact, Turn


class Creation(StrEnum):
    """What is created once."""

    STATUS = "status"
    PULL_REQUEST = "pull-request"
    REVIEW = "review"
    REPORT = "report"
    APPROVED = "approved"


class State(StrEnum):
    """What is brought to a state."""

    STATUS = "status"
    OLD_STATUS = "old-status"
    PULL_REQUEST = "pull-request"
    COMMIT_STATUS = "commit-status"
    LABEL = "label"
    DRAFT = "draft"
    READY = "ready"
    REVIEWER = "reviewer"


@dataclass(frozen=True, kw_only=True)
class Create:
    """Create something; ``turn`` is the one it is about, None where it is about the attempt."""

    what: Creation
    key: str
    turn: Turn | None = None


@dataclass(frozen=True, kw_only=True)
class Bring:
    """Bring something to the state that ``version`` names."""

    what: State
    version: str
    turn: Turn | None = None
    label: str | None = None


Effect = Create | Bring

LABELS = {
    Result.APPROVED: "autobuild:approved",
    Result.BLOCKED: "autobuild:blocked",
    Result.FAILED: "autobuild:blocked",
}
RUNNING_LABEL = "autobuild:running"
NEEDS_INFO_LABEL = "autobuild:needs-info"
OUR_LABELS = (RUNNING_LABEL, *dict.fromkeys(LABELS.values()), NEEDS_INFO_LABEL)


def label(attempt: Attempt) -> str | None:
    """The one label of ours that an issue in this state carries."""
    ended = attempt.ended
    if ended is None:
        return RUNNING_LABEL
    if ended.reason is Reason.NEEDS_CLARIFICATION:
        return NEEDS_INFO_LABEL
    return None if ended.reason is Reason.CONFIGURATION else LABELS.get(ended.result)


def due(journal: Journal, shown: Collection[str]) -> Iterator[Effect]:
    """Every effect that is missing, in the order to make them; ``shown`` holds the versions made in this run."""
    for effect in _wanted(journal):
        made = journal.done(effect.key) if isinstance(effect, Create) else effect.version in shown
        if not made:
            yield effect


def announced(journal: Journal, facts: Sequence[Fact]) -> tuple[Intent, ...]:
    """The intents of what these facts make due, so that they go with the same push."""
    last = journal.entries[-1] if journal.entries else None
    run, at = (last.run, last.at) if last else (RunId(id="", attempt=0, url=""), datetime.now(UTC))
    after = journal.append(facts, run=run, at=at)
    creations = (effect for effect in due(after, ()) if isinstance(effect, Create))
    return tuple(Intent(key=effect.key) for effect in creations if not after.intended(effect.key))


def closed(journal: Journal) -> bool:
    """True once everything about the end of the last attempt was shown."""
    return journal.done(closed_key(journal)) is not None


def closed_key(journal: Journal) -> str:
    """The key under which that is written down."""
    return f"{journal.attempt.number}/0/closed"


def number(journal: Journal) -> int | None:
    """The pull request's number, None where there is none."""
    found = journal.pull_request
    return found.github_id if found else None


def may_not_open(journal: Journal) -> bool:
    """True where GitHub refused to let us open a pull request."""
    found = journal.pull_request
    return found is not None and found.github_id is None


def _wanted(journal: Journal) -> Iterator[Effect]:
    attempt = journal.attempt
    n, ended = attempt.number, attempt.ended
    yield Create(what=Creation.STATUS, key=f"{n}/0/{Creation.STATUS}")
    yield Bring(what=State.LABEL, version=f"{n}/label/{label(attempt)}", label=label(attempt))
    if n > 1:
        yield Bring(what=State.OLD_STATUS, version=f"{n}/old-status")
    yield from _pull_request(journal, attempt)
    yield from _reviews(journal, attempt)
    if number(journal) and attempt.turns:
        yield Bring(what=State.PULL_REQUEST, version=f"{moment(attempt)}/pull-request")
    if ended and ended.result is Result.APPROVED:
        yield from _approved(journal, attempt)
    if ended and ended.result in (Result.BLOCKED, Result.FAILED):
        yield Create(what=Creation.REPORT, key=f"{n}/0/{Creation.REPORT}")
        if attempt.head and ended.reason is not Reason.CONFIGURATION:
            yield Bring(what=State.COMMIT_STATUS, version=f"{n}/ended/commit-status")
    yield Bring(what=State.STATUS, version=f"{moment(attempt)}/status")


def _pull_request(journal: Journal, attempt: Attempt) -> Iterator[Effect]:
    approved = attempt.ended is not None and attempt.ended.result is Result.APPROVED
    early = attempt.started.pull_request is PullRequestMode.DRAFT and not journal.refused_draft
    if _may_ask(journal, attempt) and attempt.head and (early or approved):
        key = f"{attempt.number}/{attempt.turns[-1].number}/{Creation.PULL_REQUEST}"
        yield Create(what=Creation.PULL_REQUEST, key=key)
    if number(journal) and attempt.number > 1 and not approved:
        yield Bring(what=State.DRAFT, version=f"{attempt.number}/draft")


def _may_ask(journal: Journal, attempt: Attempt) -> bool:
    """Once an attempt: a person may have allowed by now what GitHub refused to an earlier one."""
    found = journal.pull_request
    return found is None or (found.github_id is None and not found.key.startswith(f"{attempt.number}/"))


def _reviews(journal: Journal, attempt: Attempt) -> Iterator[Effect]:
    """Reviews of accepted verdicts: on the pull request, or on the issue where we may not open one."""
    for turn in attempt.turns:
        if turn.decided is None or turn.verdict is None:
            continue
        if number(journal) or may_not_open(journal):
            key = f"{attempt.number}/{turn.number}/{Creation.REVIEW}"
            yield Create(what=Creation.REVIEW, key=key, turn=turn)
        version = f"{attempt.number}/{turn.number}/commit-status/{number(journal)}"  # it links to the pull request
        yield Bring(what=State.COMMIT_STATUS, version=version, turn=turn)


def _approved(journal: Journal, attempt: Attempt) -> Iterator[Effect]:
    if number(journal):
        yield Bring(what=State.READY, version=f"{attempt.number}/ready")
        yield Bring(what=State.REVIEWER, version=f"{attempt.number}/reviewer")
    else:
        yield Create(what=Creation.APPROVED, key=f"{attempt.number}/0/{Creation.APPROVED}")


def moment(attempt: Attempt) -> str:
    """The moment whose state the texts show: it changes twice a turn at most."""
    if attempt.ended:
        return f"{attempt.number}/ended"
    turn = attempt.turns[-1] if attempt.turns else None
    if turn is None:
        return f"{attempt.number}/0/started"
    if turn.change is None:  # a session that failed shows nothing new
        return f"{attempt.number}/{turn.number - 1}/decided" if turn.number > 1 else f"{attempt.number}/0/started"
    return f"{attempt.number}/{turn.number}/{'decided' if turn.decided or turn.idle else 'changed'}"

"""What a request means in the state an issue is in (docs/design.md, "Life cycle"): start, go on, or a few words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from autobuild_action import answers
from autobuild_action.model import Result

if TYPE_CHECKING:
    from autobuild_action.journal import Journal
    from autobuild_action.place import Place


class PullState(StrEnum):
    """What became of the pull request; ``NONE`` where there is none."""

    NONE = "none"
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, kw_only=True)
class Start:
    """Begin a new attempt."""


@dataclass(frozen=True, kw_only=True)
class GoOn:
    """Play the unfinished attempt of a run that died; something new needs an attempt of its own."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Nothing to do but to say so: ``text`` on the issue, empty for silence, and ``why`` in the log."""

    text: str
    why: str = "nothing to do: see the comment"


def admit(journal: Journal | None, *, place: Place, pull: PullState, retry: bool, news: bool) -> Start | GoOn | Answer:
    """The meaning of a ``retry``, or of a label or dispatch.

    ``news`` is true where there is something new to work on: a text, an edited contract, people's commits.
    """
    if journal is None or not journal.attempts:
        return Start()
    found = journal.pull_request
    number = found.github_id if found else None
    if pull is PullState.MERGED and number:
        return Answer(text=answers.merged(number))
    ended = journal.attempt.ended
    if ended is None:
        return Start() if news else GoOn()
    if ended.result is not Result.APPROVED or pull is PullState.CLOSED:
        return Start()
    url = place.pull(number) if number else place.compare(journal.base, journal.branch)
    if not retry:
        return Answer(text=answers.already_approved(url))
    return Start() if news else Answer(text=answers.nothing_new(url))

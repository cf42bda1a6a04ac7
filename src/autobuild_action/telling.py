"""The log's one line for each fact, so that people who watch a run see what its steps led to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action import tables, words
from autobuild_action.model import (
    AttemptStarted,
    Committed,
    Decided,
    Done,
    Ended,
    Judged,
    PlayerEnded,
    SessionEnd,
    Unchanged,
)

if TYPE_CHECKING:
    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact, Session


def line(journal: Journal, fact: Fact) -> str | None:
    """What to say of a fact that the journal has just taken in; None where the log says it otherwise."""
    told = None
    match fact:
        case AttemptStarted():
            by = f"{fact.trigger.kind} by {fact.trigger.login}"
            told = f"issue {journal.issue}: attempt {fact.attempt} ({by}), {len(fact.contract.criteria)} criteria"
        case PlayerEnded() if fact.session.end is not SessionEnd.COMPLETED:
            told = f"the Player's session {_how(fact.session)}"
        case Committed():
            refused = f", {words.plural(len(fact.refused), 'path')} refused" if fact.refused else ""
            told = f"commit {fact.commit[:7]} is on {journal.branch}{refused}"
        case Unchanged():
            told = "the Player changed nothing"
        case Judged() if fact.verdict is None:
            told = f"no verdict that counts: {' '.join(fact.faults)[:500]}"
        case Decided():
            told = _decision(journal, fact)
        case Done() if fact.url:
            told = f"{fact.key.rpartition('/')[2]}: {fact.url}"
        case Ended():
            told = words.REASON[fact.reason].headline
        case _:
            pass  # said otherwise, or not worth a line
    return told


def _how(session: Session) -> str:
    return f"{'was cut short' if session.end is SessionEnd.CUT_SHORT else 'failed'}: {session.detail[:500]}"


def _decision(journal: Journal, fact: Decided) -> str:
    turn = journal.attempt.turns[-1]
    issues = f", {tables.counted(turn.issues)}" if turn.issues else ""
    if tables.overriding(turn):
        return f"the Coach approved; the gate overrode it ({', '.join(rule.name for rule in tables.overriding(turn))})"
    return f"verdict: {fact.decision}{issues}"

"""What comes next, computed from the facts of an attempt; the loop does it and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action.model import (
    Category,
    Committed,
    Decision,
    Implement,
    Judge,
    Measure,
    Outcome,
    Owner,
    Reason,
    Unchanged,
    Weigh,
    Why,
)

if TYPE_CHECKING:
    from autobuild_action.model import Attempt, Judged, PlayerEnded, Step, Turn

TRIES = 2
"""A session that failed, or gave no verdict, is followed by one more; then the attempt ends."""
STALLED_VERDICTS = 3
STALLED_IDLE_TURNS = 2
LEAST_SECONDS = 60
"""Less time than this is no session: the run ends while it can still say so."""
LEAST_BUDGET = 0.02
"""The share of the attempt's budget below which it counts as used up."""
NOT_THEIR_FAULT: dict[Why | None, Reason] = {Why.MODEL: Reason.MODEL_UNAVAILABLE, Why.BUDGET: Reason.BUDGET}
"""What ends an attempt for its own reason where two sessions in a row came to nothing by it."""
PLAYER_SHARE = 0.75
"""A Player may spend this share of what is left, so that its work can still be judged."""


def decide(attempt: Attempt, *, seconds_left: float) -> Step:
    """The next step, or the outcome; ``seconds_left`` is what remains of the run."""
    turn = attempt.turns[-1] if attempt.turns else None
    if turn is None:
        return _implement(attempt, 1, seconds_left)
    if turn.change is None:
        return _after_failed_player(attempt, turn, seconds_left)
    if turn.decided is None and not turn.idle:
        return _judgement(attempt, turn, turn.change.commit or "", seconds_left)
    return _end(attempt, turn) or _implement(attempt, turn.number + 1, seconds_left)


def _implement(attempt: Attempt, number: int, seconds_left: float) -> Step:
    limits = attempt.started.limits
    if number > limits.max_turns:
        return Outcome(reason=Reason.MAX_TURNS)
    return _exhausted(attempt, seconds_left) or Implement(turn=number, budget_usd=PLAYER_SHARE * _left(attempt))


def _after_failed_player(attempt: Attempt, turn: Turn, seconds_left: float) -> Step:
    failed = _failure(turn.sessions, Reason.PLAYER_ERROR)
    return failed or _implement(attempt, turn.number, seconds_left)


def _judgement(attempt: Attempt, turn: Turn, commit: str, seconds_left: float) -> Step:
    if _seen_before(attempt, turn):
        return Outcome(reason=Reason.STALLED, detail="The tree is the same as after an earlier turn.")
    if attempt.measured(commit) is None:
        return _out_of_time(seconds_left) or Measure(turn=turn.number, commit=commit)
    if turn.verdict:
        return Weigh(turn=turn.number, commit=commit)
    failed = _failure(turn.judgements, Reason.COACH_ERROR)
    faults = turn.judgements[-1].faults if turn.judgements else ()
    judge = Judge(turn=turn.number, commit=commit, budget_usd=_left(attempt), faults=faults)
    return failed or _exhausted(attempt, seconds_left) or judge


def _failure(tries: tuple[PlayerEnded, ...] | tuple[Judged, ...], reason: Reason) -> Outcome | None:
    """The end that failed sessions come to: at once where the key is refused, else after one more try."""
    if not tries:
        return None
    session = tries[-1].session
    if session.why is Why.AUTH:
        return Outcome(reason=Reason.AUTH, detail=session.detail)
    if len(tries) < TRIES:
        return None
    return Outcome(reason=NOT_THEIR_FAULT.get(session.why, reason), detail=_words(tries[-1]))


def _words(last: PlayerEnded | Judged) -> str:
    faults = getattr(last, "faults", ())
    return last.session.detail or " ".join(faults)


def _end(attempt: Attempt, turn: Turn) -> Outcome | None:
    decided = turn.decided
    if decided and any(rule.owner is Owner.WORLD and not rule.held for rule in decided.rules):
        return Outcome(reason=Reason.SUPERSEDED, detail="The branch was moved by somebody else during the run.")
    if decided and decided.decision is Decision.APPROVE:
        return Outcome(reason=Reason.APPROVED)
    categories = {issue.category for issue in turn.must_fix}
    if Category.UNSAFE_REQUEST in categories:
        return Outcome(reason=Reason.UNSAFE_REQUEST)
    if Category.AMBIGUOUS_REQUIREMENT in categories:
        return Outcome(reason=Reason.NEEDS_CLARIFICATION)
    return _stalled(attempt)


def _stalled(attempt: Attempt) -> Outcome | None:
    last = attempt.turns[-STALLED_IDLE_TURNS:]
    if len(last) == STALLED_IDLE_TURNS and all(turn.idle for turn in last):
        return Outcome(reason=Reason.STALLED, detail="Two turns in a row changed nothing.")
    verdicts = [turn for turn in attempt.turns if turn.decided][-STALLED_VERDICTS:]
    prints = {frozenset(issue.fingerprint for issue in turn.must_fix) for turn in verdicts}
    if len(verdicts) == STALLED_VERDICTS and len(prints) == 1 and frozenset() not in prints:
        return Outcome(reason=Reason.STALLED, detail="Three verdicts in a row asked for the same things.")
    return None


def _seen_before(attempt: Attempt, turn: Turn) -> bool:
    change = turn.change
    if isinstance(change, Unchanged):
        return False
    earlier = (before.change for before in attempt.turns if before.number < turn.number)
    return any(isinstance(before, Committed) and change and before.tree == change.tree for before in earlier)


def _exhausted(attempt: Attempt, seconds_left: float) -> Outcome | None:
    if _left(attempt) < LEAST_BUDGET * attempt.started.limits.budget_usd:
        return Outcome(reason=Reason.BUDGET)
    return _out_of_time(seconds_left)


def _out_of_time(seconds_left: float) -> Outcome | None:
    return Outcome(reason=Reason.TIMEOUT) if seconds_left < LEAST_SECONDS else None


def _left(attempt: Attempt) -> float:
    return attempt.started.limits.budget_usd - attempt.cost_usd

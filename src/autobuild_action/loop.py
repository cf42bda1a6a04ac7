"""The product: play turns until there is an outcome.

There is no state beside the journal. ``decide`` reads the facts and names the next step; each step gives facts,
and they are on the remote before the next one starts. So a run that died goes on where its journal ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autobuild_action.decide import decide
from autobuild_action.effects import announced
from autobuild_action.model import Implement, Judge, Measure, Outcome, Weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autobuild_action.model import Fact
    from autobuild_action.ports import Checker, Coach, Log, Player, Publisher


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything that a run acts through."""

    log: Log
    publisher: Publisher
    player: Player
    checker: Checker
    coach: Coach
    seconds_left: Callable[[], float]


def play(run: Run) -> Outcome:
    """Play the journal's last attempt to its outcome."""
    while True:
        run.publisher.show(run.log)
        journal = run.log.journal
        facts: Sequence[Fact]
        match decide(journal.attempt, seconds_left=run.seconds_left()):
            case Implement() as step:
                facts = run.player.implement(journal, step)  # the session, and the commit made of its tree
            case Measure() as step:
                facts = run.checker.measure(journal, step)  # our own evidence, outside both agents
            case Judge() as step:
                facts = run.coach.judge(journal, step)  # a verdict, or why there is none
            case Weigh() as step:
                facts = run.checker.weigh(journal, step)  # the gate
            case Outcome() as outcome:
                return outcome
        run.log.add(*facts, *announced(journal, facts))

"""Checks: run outside both agents, on clean checkouts; and the evidence and decisions made of them."""

from __future__ import annotations

import math
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autobuild_action import gate
from autobuild_action.adapters.workspace import SCRATCH
from autobuild_action.evidence import JUNIT_VARIABLE, LARGEST_JUNIT, audit, check_run
from autobuild_action.model import Measured
from autobuild_action.ports import Bounds, Identity, Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autobuild_action.adapters.workspace import Workspace
    from autobuild_action.journal import Journal
    from autobuild_action.model import Check, CheckRun, Decided, Fact, Measure, Turn, Weigh
    from autobuild_action.ports import Sandbox

RESERVE_SECONDS = 30
"""What a check leaves of the run's time, so that the run can still say that it is over."""
JUNIT_NAME = "autobuild-junit.xml"
WITH_JUNIT = f'export {JUNIT_VARIABLE}="$TMPDIR/{JUNIT_NAME}"; eval "$1"'


@dataclass(frozen=True)
class Checks:
    """The project's checks on the commits of one run.

    ``remote_head`` reads where the branch is on GitHub, ``say`` tells people what is going on, ``seconds_left`` is
    what remains of the run: no check may outlast it.
    """

    checks: Sequence[Check]
    workspace: Workspace
    sandbox: Sandbox
    remote_head: Callable[[], str | None]
    say: Callable[[str], None]
    seconds_left: Callable[[], float] = lambda: math.inf

    def run_all(self, commit: str) -> tuple[CheckRun, ...]:
        """Every check on one commit, each in a checkout and a session of its own."""
        return tuple(self._run(check, commit) for check in self.checks)

    def measure(self, journal: Journal, step: Measure) -> Sequence[Fact]:
        """The evidence on the step's commit."""
        turn = journal.attempt.turns[-1]
        runs = self.run_all(step.commit)
        ended = turn.sessions[-1] if turn.sessions else None
        commands = ended.commands if ended else ()
        return [
            Measured(
                turn=step.turn,
                commit=step.commit,
                checks=runs,
                audit=audit(ended.report if ended else None, commands, runs),
                diff=self.workspace.diff_stat(journal.attempt.started.base_commit, step.commit),
            )
        ]

    def weigh(self, journal: Journal, step: Weigh) -> Sequence[Fact]:
        """The gate's word on the step's turn."""
        return [_weigh(journal, journal.attempt.turns[-1], step, self.remote_head())]

    def _run(self, check: Check, commit: str) -> CheckRun:
        session = f"check-{check.name}".replace(" ", "-")
        self.say(f"check `{check.name}`: {check.command}")
        tree = self.workspace.prepare(SCRATCH, commit, lambda tree: self.sandbox.own(session, tree, writable=True))
        spec = Spec(
            session=session,
            identity=Identity.CHECK,
            argv=("sh", "-c", WITH_JUNIT, "sh", check.command),
            work=tree,
            limits=Bounds(seconds=min(check.seconds, max(1.0, self.seconds_left() - RESERVE_SECONDS))),
            env={"CI": "true"},
        )
        try:
            ended = self.sandbox.run(spec)
            run = check_run(check, ended, self._junit(session))
        finally:
            self.sandbox.end(session)
        self.say(f"check `{check.name}` {run.result}: {run.why}")
        return run

    def _junit(self, session: str) -> bytes | None:
        """The report, if the check left one that is a file (not a link, not a pipe) and not too large."""
        path = self.sandbox.temp(session) / JUNIT_NAME
        with suppress(OSError):
            state = path.lstat()
            if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_JUNIT:
                return path.read_bytes()
        return None


def _weigh(journal: Journal, turn: Turn, step: Weigh, remote_head: str | None) -> Decided:
    attempt = journal.attempt
    verdict, measured = turn.verdict, attempt.measured(step.commit)
    if verdict is None or measured is None:
        raise ValueError("a turn is weighed after it was measured and judged")
    return gate.weigh(attempt, turn, verdict, measured, remote_head=remote_head)

"""Checks: run outside both agents, on clean checkouts; and the evidence and decisions made of them."""

from __future__ import annotations

import stat
from contextlib import suppress
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

JUNIT_NAME = "autobuild-junit.xml"
WITH_JUNIT = f'export {JUNIT_VARIABLE}="$TMPDIR/{JUNIT_NAME}"; eval "$1"'


class Checks:
    """The project's checks on the commits of one run."""

    def __init__(
        self,
        checks: Sequence[Check],
        workspace: Workspace,
        sandbox: Sandbox,
        *,
        remote_head: Callable[[], str | None],
        say: Callable[[str], None],
    ) -> None:
        """``remote_head`` reads where the branch is on GitHub; ``say`` tells people what is going on."""
        self.checks = checks
        self._workspace = workspace
        self._sandbox = sandbox
        self._remote_head = remote_head
        self._say = say

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
                diff=self._workspace.diff_stat(journal.attempt.started.base_commit, step.commit),
            )
        ]

    def weigh(self, journal: Journal, step: Weigh) -> Sequence[Fact]:
        """The gate's word on the step's turn."""
        return [_weigh(journal, journal.attempt.turns[-1], step, self._remote_head())]

    def _run(self, check: Check, commit: str) -> CheckRun:
        session = f"check-{check.name}".replace(" ", "-")
        self._say(f"check `{check.name}`: {check.command}")
        tree = self._workspace.prepare(SCRATCH, commit, lambda tree: self._sandbox.own(session, tree, writable=True))
        spec = Spec(
            session=session,
            identity=Identity.CHECK,
            argv=("sh", "-c", WITH_JUNIT, "sh", check.command),
            work=tree,
            limits=Bounds(seconds=check.seconds),
            env={"CI": "true"},
        )
        try:
            ended = self._sandbox.run(spec)
            run = check_run(check, ended, self._junit(session))
        finally:
            self._sandbox.end(session)
        self._say(f"check `{check.name}` {run.result}: {run.why}")
        return run

    def _junit(self, session: str) -> bytes | None:
        """The report, if the check left one that is a file (not a link, not a pipe) and not too large."""
        path = self._sandbox.temp(session) / JUNIT_NAME
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

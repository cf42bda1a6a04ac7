"""The two roles: a fresh session each, from the journal's facts to new facts."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from autobuild_action import prompting, words
from autobuild_action.adapters import claude
from autobuild_action.adapters.broker import BrokerLostError
from autobuild_action.adapters.workspace import COACH, PLAYER, SCRATCH
from autobuild_action.gate import Record, cited_path, faults
from autobuild_action.model import Judged, LedgerEntry, PlayerEnded, Role, Session, SessionEnd, Strictness, Usage, Why
from autobuild_action.ports import Bounds, Identity, Spec
from autobuild_action.shapes import read_report, read_verdict, report_schema, verdict_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from autobuild_action.adapters.broker import Broker, BrokerUsage
    from autobuild_action.adapters.takeover import Taken
    from autobuild_action.adapters.workspace import Workspace
    from autobuild_action.journal import Journal
    from autobuild_action.model import Check, Fact, Implement, Judge, Measured, Mode, Turn, Verdict
    from autobuild_action.ports import Sandbox

PLAYER_TOOLS = ("Read", "Write", "Edit", "Bash", "Glob", "Grep")
COACH_TOOLS = ("Read", "Glob", "Grep")
RESERVE_SECONDS = 60
"""What a session leaves of the run's time, so that the run can still end well."""
POLITE = 0.95
"""The CLI's own limit lies a little below the broker's, so that it ends with a result."""
RUN_SECONDS = 600
LEDGER_TEXT = 4000


class Witness(Protocol):
    """Who hears what a session does: the console and the trace."""

    def session(self, role: Role, turn: str, event: str, data: Mapping[str, Any]) -> None:
        """One event of a session."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One session to play: who, on which turn, where, and with what words."""

    role: Role
    turn: int
    model: str
    work: Path
    session: str
    system: str
    prompt: str
    schema: Mapping[str, Any]
    budget_usd: float
    run: Callable[[str], str] | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What both roles play on."""

    workspace: Workspace
    sandbox: Sandbox
    broker: Broker
    cli: Path
    witness: Witness
    seconds_left: Callable[[], float]
    notes: str
    checks: Sequence[Check]

    def play(self, journal: Journal, part: Part) -> tuple[Session, claude.Answer]:
        """Play one session and end everything of it; answers how it went and what it said."""
        limits = journal.attempt.started.limits
        player = part.role is Role.PLAYER
        title = words.turn(journal.attempt, part.turn)
        nonce = self.broker.open(part.budget_usd)
        seconds = min(limits.session_seconds, max(1.0, self.seconds_left() - RESERVE_SECONDS))
        spec = Spec(
            session=part.session,
            identity=Identity.PLAYER if player else Identity.COACH,
            argv=(str(self.cli),),
            work=part.work,
            limits=Bounds(seconds=seconds),
            env={**claude.ENVIRONMENT, "ANTHROPIC_BASE_URL": self.broker.url, "ANTHROPIC_API_KEY": nonce},
            writable=player,
            broker=True,
        )
        call = claude.Call(
            id=str(uuid.uuid4()),
            model=part.model,
            launcher=self.sandbox.launcher(spec),
            work=part.work,
            system_file=self.sandbox.put(part.session, "system.md", part.system),
            keep_preset=player,
            prompt=part.prompt,
            tools=PLAYER_TOOLS if player else COACH_TOOLS,
            schema=part.schema,
            max_steps=limits.player_steps if player else limits.coach_steps,
            budget_usd=part.budget_usd * POLITE,
            seconds=seconds,
            run=part.run,
        )
        try:
            answer = claude.play(call, lambda event, data: self.witness.session(part.role, title, event, data))
        finally:
            self.sandbox.end(part.session)
            used = self._close(nonce)
        end, why, detail = answer.end, answer.why, answer.detail
        if used is None:
            end, why, detail = SessionEnd.FAILED, Why.CRASH, "the broker ended during the session"
        elif used.over_budget and end is not SessionEnd.COMPLETED:
            end, why, detail = SessionEnd.CUT_SHORT, Why.BUDGET, "the session's budget was used up"
        record = Session(
            id=call.id,
            role=part.role,
            model=part.model,
            end=end,
            seconds=answer.seconds,
            usage=used.usage if used else Usage(estimated=True),
            prompt_sha256=prompting.sha256(part.system, part.prompt),
            why=why,
            detail=detail,
        )
        return record, answer

    def _close(self, nonce: str) -> BrokerUsage | None:
        """What the session used, None where the broker's process is gone; the next session starts another."""
        try:
            return self.broker.close(nonce)
        except BrokerLostError:
            return None


class ModelPlayer:
    """The Player: implements in a tree of its own; the tree becomes our commit."""

    def __init__(self, stage: Stage, *, model: str, mode: Mode, message: Callable[[Journal, int, Taken], str]) -> None:
        """``message`` writes the commit message of a turn."""
        self._stage = stage
        self._model = model
        self._mode = mode
        self._message = message

    def implement(self, journal: Journal, step: Implement) -> Sequence[Fact]:
        """One session, then its tree."""
        stage, attempt, task = self._stage, journal.attempt, journal.attempt.task
        parent = attempt.head or attempt.started.start_commit
        session = f"player-{attempt.number}-{step.turn}-{uuid.uuid4().hex[:8]}"
        own = stage.sandbox.own
        work = stage.workspace.prepare(PLAYER, parent, lambda tree: own(session, tree, writable=True))
        part = Part(
            role=Role.PLAYER,
            turn=step.turn,
            model=self._model,
            work=work,
            session=session,
            system=prompting.player_system(attempt, stage.checks, self._mode, stage.notes),
            prompt=prompting.player_turn(journal, step.turn),
            schema=report_schema(task),
            budget_usd=step.budget_usd,
        )
        record, answer = stage.play(journal, part)
        report = read_report(answer.structured, task)
        commands = tuple(command[:2000] for command in answer.commands[:200])
        ended = PlayerEnded(turn=step.turn, session=record, report=report, commands=commands)
        if record.end is SessionEnd.FAILED:
            return [ended]
        return [ended, self._taken(journal, step.turn, parent, ended)]

    def _taken(self, journal: Journal, turn: int, parent: str, ended: PlayerEnded) -> Fact:
        workspace, attempt = self._stage.workspace, journal.attempt
        taken = workspace.take(attempt.started.base_commit)
        if taken.tree == workspace.git.tree(parent):
            head = parent if parent != attempt.started.base_commit else None
            disputes = ended.report.disputed if ended.report else ()
            return workspace.unchanged(turn, head, taken, disputes)
        return workspace.commit(turn, parent, taken, self._message(journal, turn, taken))


class ModelCoach:
    """The Coach: reads one commit, tries it in a throw-away copy, and gives a verdict."""

    def __init__(self, stage: Stage, *, model: str) -> None:
        """Judge with ``model``."""
        self._stage = stage
        self._model = model

    def judge(self, journal: Journal, step: Judge) -> Sequence[Fact]:
        """One session on the step's commit; without a verdict that counts, the faults say why."""
        stage, attempt, turn = self._stage, journal.attempt, journal.attempt.turns[-1]
        measured = attempt.measured(step.commit)
        if measured is None:
            raise ValueError("a commit is judged after it was measured")
        session = f"coach-{attempt.number}-{step.turn}-{uuid.uuid4().hex[:8]}"
        own = stage.sandbox.own
        work = stage.workspace.prepare(COACH, step.commit, lambda tree: own(session, tree, writable=False))
        title = words.turn(attempt, step.turn)
        desk = _Desk(
            stage,
            step.commit,
            session,
            lambda answer: stage.witness.session(Role.COACH, title, "run", {"answer": answer}),
        )
        part = Part(
            role=Role.COACH,
            turn=step.turn,
            model=self._model,
            work=work,
            session=session,
            system=prompting.coach_system(attempt, stage.notes),
            prompt=self._prompt(journal, turn, measured, step),
            schema=verdict_schema(attempt.task),
            budget_usd=step.budget_usd,
            run=desk.run,
        )
        try:
            record, answer = stage.play(journal, part)
        finally:
            desk.close()
        if record.end is SessionEnd.COMPLETED:
            verdict, wrong = self._verdict(journal, measured, answer, desk.ledger)
        else:
            verdict, wrong = None, (f"The session ended without a verdict: {record.detail}",)
        return [
            Judged(
                turn=step.turn,
                commit=step.commit,
                session=record,
                verdict=verdict,
                faults=wrong,
                ledger=tuple(desk.ledger),
            )
        ]

    def _prompt(self, journal: Journal, turn: Turn, measured: Measured, step: Judge) -> str:
        diff = self._stage.workspace.git.diff(journal.attempt.started.base_commit, step.commit)
        return prompting.coach_turn(journal, turn, measured, diff, step.faults)

    def _verdict(
        self, journal: Journal, measured: Measured, answer: claude.Answer, ledger: Sequence[LedgerEntry]
    ) -> tuple[Verdict | None, tuple[str, ...]]:
        """The verdict if it counts, else what is wrong with it."""
        attempt = journal.attempt
        task, turn = attempt.task, attempt.turns[-1].number
        verdict, wrong = read_verdict(answer.structured, task, attempt=attempt.number, turn=turn)
        if verdict is None:
            return None, wrong
        wrong = faults(
            verdict,
            Record(
                task=task,
                open_issues=journal.open_issues,
                checks=measured.checks,
                baseline=attempt.baseline,
                ledger=tuple(ledger),
                lines=self._lines(verdict, measured.commit),
                touched=self._stage.workspace.touched(COACH),
                strict=attempt.started.strictness is Strictness.STRICT,
            ),
        )
        return (None, wrong) if wrong else (verdict, ())

    def _lines(self, verdict: Verdict, commit: str) -> dict[str, int]:
        """The number of lines of every cited file that is there."""
        cited = {cited_path(ref) for ruling in verdict.criteria for ref in ruling.evidence} - {None}
        contents = {path: self._stage.workspace.git.read(commit, path) for path in cited if path}
        return {path: len(content.splitlines()) for path, content in contents.items() if content is not None}


class _Desk:
    """The Coach's tool ``run``: each command in one throw-away copy of the commit, each on the ledger."""

    def __init__(self, stage: Stage, commit: str, session: str, say: Callable[[str], None]) -> None:
        self.ledger: list[LedgerEntry] = []
        self._say = say
        self._stage = stage
        self._commit = commit
        self._session = session.replace("coach", "run")
        self._tree: Path | None = None

    def run(self, command: str) -> str:
        """Run one shell command; the answer begins with its id in the ledger."""
        stage = self._stage
        if self._tree is None:
            own = stage.sandbox.own
            self._tree = stage.workspace.prepare(
                SCRATCH, self._commit, lambda tree: own(self._session, tree, writable=True)
            )
        ended = stage.sandbox.run(
            Spec(
                session=self._session,
                identity=Identity.RUN,
                argv=("sh", "-c", command),
                work=self._tree,
                limits=Bounds(seconds=min(RUN_SECONDS, max(1.0, stage.seconds_left() - RESERVE_SECONDS))),
                env={"CI": "true"},
            )
        )
        entry = LedgerEntry(
            id=f"R{len(self.ledger) + 1}",
            command=command[:2000],
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            output=_tail(ended.output),
        )
        self.ledger.append(entry)
        code = f"exit {ended.exit_code}" if ended.exit_code is not None else f"no exit code ({ended.ended_by})"
        answer = f"{entry.id} {code}, {ended.seconds:.1f} s"
        self._say(answer)
        return f"{answer}\n{ended.output}"

    def close(self) -> None:
        """Leave nothing of it alive."""
        self._stage.sandbox.end(self._session)


def _tail(output: str) -> str:
    return output if len(output) <= LEDGER_TEXT else f"[…]\n{output[-LEDGER_TEXT:]}"

"""What the core asks of the world: few and small Protocols, so that a test can die at every call."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact, Implement, Judge, Level, Measure, Weigh


class Log(Protocol):
    """The journal, kept where it survives the runner."""

    @property
    def journal(self) -> Journal:
        """All facts so far."""

    def add(self, *facts: Fact) -> None:
        """Append facts and push them, a commit among them together with its branch, before returning.

        Raises ``SupersededError`` where the branch or the journal was moved by somebody else.
        """

    def note(self, *facts: Fact) -> None:
        """Append facts that may wait for the next push."""


class Player(Protocol):
    """The role that implements."""

    def implement(self, journal: Journal, step: Implement) -> Sequence[Fact]:
        """Run one fresh session; answers ``PlayerEnded`` and, unless it failed, ``Committed`` or ``Unchanged``."""


class Coach(Protocol):
    """The role that judges."""

    def judge(self, journal: Journal, step: Judge) -> Sequence[Fact]:
        """Run one fresh session on the step's commit; answers ``Judged``."""


class Checker(Protocol):
    """What we measure ourselves."""

    def measure(self, journal: Journal, step: Measure) -> Sequence[Fact]:
        """Run the checks on a clean checkout of the step's commit; answers ``Measured``."""

    def weigh(self, journal: Journal, step: Weigh) -> Sequence[Fact]:
        """Read the remote head and put the verdict through the gate; answers ``Decided``."""


class Publisher(Protocol):
    """GitHub, brought to what the journal says."""

    def show(self, log: Log) -> None:
        """Make every text, label and status that is due; each at most once."""


# --- the sandbox ------------------------------------------------------------------------------------


class Identity(StrEnum):
    """As whom a process runs; no two of them share a uid."""

    PLAYER = "player"
    COACH = "coach"
    CHECK = "check"
    RUN = "run"
    SETUP = "setup"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What one process may use: seconds of wall clock, processes, bytes of a file, bytes of output."""

    seconds: float
    processes: int = 512
    file_bytes: int = 2**30
    output_bytes: int = 50 * 2**20


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A process to start: what, as whom, where, and what it may reach (docs/design.md, "Sandbox port")."""

    session: str
    identity: Identity
    argv: tuple[str, ...]
    work: Path
    limits: Bounds
    env: Mapping[str, str] = field(default_factory=dict)
    writable: bool = True
    broker: bool = False
    network: bool = False


class EndedBy(StrEnum):
    """What ended a process."""

    EXIT = "exit"
    DEADLINE = "deadline"
    MEMORY = "memory"
    OUTPUT = "output"
    KILLED = "killed"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended; ``output`` is both streams, the first 10,000 and last 20,000 characters."""

    exit_code: int | None
    ended_by: EndedBy
    seconds: float
    output: str


class Sandbox(Protocol):
    """Where every process of an agent, every check and every command of the Coach starts."""

    level: Level

    def own(self, session: str, tree: Path, *, writable: bool) -> bool:
        """Give a work tree to this session, and to nobody else; answers whether files got another owner."""

    def launcher(self, spec: Spec) -> Path:
        """An executable that runs ``spec.argv`` and its own arguments inside, stdin and stdout passed through."""

    def run(self, spec: Spec) -> Ended:
        """Run ``spec.argv`` inside to its end or to its limits."""

    def put(self, session: str, name: str, text: str) -> str:
        """Leave a file for the session to read; answers its path as the session sees it."""

    def temp(self, session: str) -> Path:
        """The session's TMPDIR as we see it; gone after :meth:`end`."""

    def end(self, session: str) -> None:
        """Leave nothing of this session alive; may be called twice."""


# --- GitHub -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Posted:
    """Something on GitHub: its id (a pull request's number), its address, and its text."""

    id: int
    url: str
    body: str = ""


class Forge(Protocol):
    """GitHub's effects and the reads that make them safe to repeat.

    A create raises ``RefusedError`` where GitHub said no and ``UnknownOutcomeError`` where it may have happened.
    """

    def find_comment(self, marker: str) -> Posted | None:
        """Our own comment on the issue that ends with ``marker``."""

    def create_comment(self, body: str) -> Posted:
        """Comment on the issue."""

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text."""

    def find_pull_request(self, branch: str) -> Posted | None:
        """The open pull request of our branch."""

    def create_pull_request(self, *, branch: str, base: str, title: str, body: str, draft: bool) -> Posted:
        """Open a pull request."""

    def edit_pull_request(self, number: int, *, body: str) -> None:
        """Replace a pull request's body."""

    def set_draft(self, number: int, *, draft: bool) -> None:
        """Mark a pull request ready for review, or a draft again."""

    def ask_review(self, number: int, login: str) -> None:
        """Request a person's review."""

    def find_review(self, number: int, marker: str) -> Posted | None:
        """Our own review that ends with ``marker``."""

    def create_review(self, number: int, *, commit: str, body: str, comments: Sequence[Mapping[str, object]]) -> Posted:
        """Review a commit with event ``COMMENT``."""

    def set_status(self, commit: str, *, state: str, description: str, url: str) -> None:
        """Set the commit status ``autobuild``."""

    def set_label(self, label: str | None) -> None:
        """Leave exactly this one of our labels on the issue, or none."""

"""A world without network or models that keeps the ports of ``ports.py``: what it holds survives a run that dies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autobuild_action import gate
from autobuild_action import journal as journals
from autobuild_action.errors import SupersededError
from autobuild_action.model import Committed, Judged, Measured, PlayerEnded
from autobuild_action.place import Place
from autobuild_action.ports import Posted
from tests.support import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact, Implement, Judge, Measure, Weigh

PLACE = Place(build.SERVER, build.REPOSITORY)
BOT = "github-actions[bot]"


@dataclass
class Note:
    """A comment or a review, and who wrote it."""

    id: int
    author: str
    body: str
    commit: str = ""


@dataclass
class Pull:
    """The pull request."""

    number: int
    branch: str
    title: str
    body: str
    draft: bool
    reviewers: list[str] = field(default_factory=list)


@dataclass
class World:
    """GitHub: what a run leaves there, and in which order it was written."""

    comments: list[Note] = field(default_factory=list)
    reviews: list[Note] = field(default_factory=list)
    pulls: list[Pull] = field(default_factory=list)
    statuses: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    label: str | None = None
    head: str | None = None
    journal: str = ""
    pushes: list[tuple[str, ...]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    ids: int = 100

    def next_id(self) -> int:
        """An id that was never used."""
        self.ids += 1
        return self.ids

    @property
    def state(self) -> tuple[object, ...]:
        """All that a person can see, and the branch."""
        return (
            [(note.id, note.author, note.body) for note in self.comments],
            [(note.id, note.author, note.body, note.commit) for note in self.reviews],
            [vars(pull) for pull in self.pulls],
            self.statuses,
            self.label,
            self.head,
        )


class FakeLog:
    """The journal; only what was pushed is in the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._base = world.journal
        self.journal: Journal = journals.loads(world.journal) if world.journal else build.journal()
        self._pushed = self.journal

    def add(self, *facts: Fact) -> None:
        before = self.journal
        self.note(*facts)
        if self.journal == self._pushed:
            return
        if self._world.journal != self._base:
            self.journal = before
            raise SupersededError("The journal was moved by somebody else.")
        new = self.journal.entries[len(self._pushed.entries) :]
        self._world.pushes.append(tuple(journals.KINDS[type(entry.fact)] for entry in new))
        self._world.journal = self._base = journals.dumps(self.journal)
        self._pushed = self.journal
        for commit in [fact.commit for fact in facts if isinstance(fact, Committed)]:
            self._world.head = commit

    def note(self, *facts: Fact) -> None:
        self.journal = self.journal.append(facts, run=build.RUN, at=build.NOON)


class FakeForge:
    """One issue's GitHub; what it finds is its own (``author``), by the marker at the end."""

    def __init__(self, world: World, author: str = BOT) -> None:
        self._world = world
        self._author = author

    def find_comment(self, marker: str) -> Posted | None:
        return self._find(self._world.comments, marker)

    def create_comment(self, body: str) -> Posted:
        self._world.writes.append(f"create comment {body.rsplit(' ', 2)[-2]}")
        return self._create(self._world.comments, body, "")

    def edit_comment(self, comment_id: int, body: str) -> None:
        self._world.writes.append(f"edit comment {body.rsplit(' ', 2)[-2]}")
        (note,) = [note for note in self._world.comments if note.id == comment_id]
        note.body = body

    def find_pull_request(self, branch: str) -> Posted | None:
        found = [pull for pull in self._world.pulls if pull.branch == branch]
        return Posted(id=found[0].number, url=PLACE.pull(found[0].number)) if found else None

    def create_pull_request(self, *, branch: str, base: str, title: str, body: str, draft: bool) -> Posted:
        self._world.writes.append(f"create {'draft' if draft else 'pull request'} to {base}")
        number = self._world.next_id()
        self._world.pulls.append(Pull(number=number, branch=branch, title=title, body=body, draft=draft))
        return Posted(id=number, url=PLACE.pull(number))

    def edit_pull_request(self, number: int, *, body: str) -> None:
        self._world.writes.append("edit pull request")
        self._pull(number).body = body

    def set_draft(self, number: int, *, draft: bool) -> None:
        self._world.writes.append("to draft" if draft else "to ready")
        self._pull(number).draft = draft

    def ask_review(self, number: int, login: str) -> None:
        self._world.writes.append(f"ask {login}")
        self._pull(number).reviewers = [login]

    def find_review(self, number: int, marker: str) -> Posted | None:
        self._pull(number)
        return self._find(self._world.reviews, marker)

    def create_review(self, number: int, *, commit: str, body: str, comments: Sequence[Mapping[str, object]]) -> Posted:
        self._world.writes.append(f"create review {body.rsplit(' ', 2)[-2]} with {len(comments)} comments")
        self._pull(number)
        return self._create(self._world.reviews, body, commit)

    def set_status(self, commit: str, *, state: str, description: str, url: str) -> None:
        self._world.writes.append(f"status {state} on {commit[:2]}")
        self._world.statuses[commit] = (state, description, url)

    def set_label(self, label: str | None) -> None:
        self._world.writes.append(f"label {label}")
        self._world.label = label

    def _pull(self, number: int) -> Pull:
        (pull,) = [pull for pull in self._world.pulls if pull.number == number]
        return pull

    def _create(self, notes: list[Note], body: str, commit: str) -> Posted:
        note = Note(id=self._world.next_id(), author=self._author, body=body, commit=commit)
        notes.append(note)
        return Posted(id=note.id, url=f"{PLACE.issue(7)}#{note.id}", body=body)

    def _find(self, notes: list[Note], marker: str) -> Posted | None:
        for note in notes:
            if note.author == self._author and note.body.rstrip().endswith(marker):
                return Posted(id=note.id, url=f"{PLACE.issue(7)}#{note.id}", body=note.body)
        return None


# --- roles that read from lists: the n-th session the journal knows gives the n-th entry --------------


class ScriptedPlayer:
    """Gives the facts of its list; ``sessions`` keeps which turn each was paid for."""

    def __init__(self, *script: Sequence[Fact]) -> None:
        self.script = script
        self.sessions: list[int] = []

    def implement(self, journal: Journal, step: Implement) -> Sequence[Fact]:
        self.sessions.append(step.turn)
        return self.script[_number(journal, PlayerEnded)]


class ScriptedCoach:
    """Gives the judgements of its list."""

    def __init__(self, *script: Judged) -> None:
        self.script = script
        self.sessions: list[tuple[int, str, tuple[str, ...]]] = []

    def judge(self, journal: Journal, step: Judge) -> Sequence[Fact]:
        self.sessions.append((step.turn, step.commit, step.faults))
        return [self.script[_number(journal, Judged)]]


class ScriptedChecker:
    """Gives the measurements of its list, and weighs by the gate."""

    def __init__(self, world: World, *script: Measured) -> None:
        self.script = script
        self._world = world

    def measure(self, journal: Journal, step: Measure) -> Sequence[Fact]:
        del step
        return [self.script[_number(journal, Measured)]]

    def weigh(self, journal: Journal, step: Weigh) -> Sequence[Fact]:
        attempt, turn = journal.attempt, journal.attempt.turns[-1]
        measured = attempt.measured(step.commit)
        if measured is None or turn.verdict is None:
            raise ValueError("a turn is weighed after it was measured and judged")
        return [gate.weigh(attempt, turn, turn.verdict, measured, remote_head=self._world.head)]


def _number(journal: Journal, kind: type[PlayerEnded | Judged | Measured]) -> int:
    return sum(isinstance(fact, kind) for fact in journal.facts)


# --- what may happen around a call ------------------------------------------------------------------


def wired(target: object, hook: Callable[[str, str, Mapping[str, Any]], None]) -> Any:
    """``target``, with ``hook(name, "before" or "after", keywords)`` called around each of its methods."""
    return _Wired(target, hook)


class _Wired:
    def __init__(self, target: object, hook: Callable[[str, str, Mapping[str, Any]], None]) -> None:
        self._target = target
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            self._hook(name, "before", keywords)
            made = value(*args, **keywords)
            self._hook(name, "after", keywords)
            return made

        return call

"""The journal and the lease on their refs: chains of commits with one file, pushed plainly.

A plain push is fast-forward only, which makes it a compare-and-swap; nothing here is ever forced.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from autobuild_action import journal as journals
from autobuild_action.adapters.git import Update
from autobuild_action.errors import JournalError, RunningError, SupersededError
from autobuild_action.model import Committed, RunId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autobuild_action.adapters.git import Author, Git
    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact

FILE = "journal.json"
LEASE_FILE = "lease.json"
GRACE = timedelta(minutes=5)


def refs(issue: int) -> tuple[str, str]:
    """The refs of an issue's journal and lease."""
    return f"refs/autobuild/issue-{issue}/journal", f"refs/autobuild/issue-{issue}/lease"


class JournalStore:
    """A journal and the commit it was last pushed as; implements the port ``Log``."""

    def __init__(self, git: Git, author: Author, journal: Journal, run: RunId, *, head: str | None = None) -> None:
        """``head`` is the commit on the journal's ref that ``journal`` was read from."""
        self.journal = journal
        self._git = git
        self._author = author
        self._run = run
        self._head = head
        self._pushed = journal
        self.redact: Callable[[str], str] = str
        """Every text passes it on its way out."""
        self.tell: Callable[[Journal, Fact], None] = lambda _journal, _fact: None
        """Hears of every fact that has become one."""

    def add(self, *facts: Fact) -> None:
        """Append and push; a ``Committed`` among the facts takes its branch along, both or neither."""
        before = self.journal
        self._append(facts)
        if self.journal == self._pushed:
            return
        try:
            self._push(facts)
        except BaseException:
            self.journal = before  # what is not on the remote did not happen
            raise
        for fact in facts:
            self.tell(self.journal, fact)

    def note(self, *facts: Fact) -> None:
        """Append facts that go with the next push."""
        self._append(facts)
        for fact in facts:
            self.tell(self.journal, fact)

    def _append(self, facts: Sequence[Fact]) -> None:
        self.journal = self.journal.append(facts, run=self._run, at=datetime.now(UTC).replace(microsecond=0))

    def _push(self, facts: Sequence[Fact]) -> None:
        tree = self._git.file_tree(FILE, self.redact(journals.dumps(self.journal)).encode())
        parents = [self._head] if self._head else []
        made = self._git.commit(tree, parents, f"autobuild journal of issue {self.journal.issue}\n", self._author)
        commits = [fact.commit for fact in facts if isinstance(fact, Committed)]
        branch = [Update(commit=commit, ref=f"refs/heads/{self.journal.branch}") for commit in commits]
        self._git.push(Update(commit=made, ref=refs(self.journal.issue)[0]), *branch)
        self._head = made
        self._pushed = self.journal


def read(git: Git, commit: str) -> Journal:
    """The journal at a commit of its ref."""
    content = git.read(commit, FILE)
    if content is None:
        raise JournalError("The journal's ref has no journal.json.", "Delete the ref to start anew.")
    return journals.loads(content.decode(errors="replace"))


def new(repository: str, issue: int, branch: str, base: str) -> Journal:
    """An empty journal."""
    return journals.Journal(id=str(uuid.uuid4()), repository=repository, issue=issue, branch=branch, base=base)


# --- the lease --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Who works on an issue, and until when at the latest."""

    journal_id: str
    run: RunId
    taken_at: str
    deadline: str


class LeaseStore:
    """The lease of one issue."""

    def __init__(self, git: Git, author: Author, issue: int, *, is_over: Callable[[RunId], bool]) -> None:
        """``is_over`` asks whether a run has ended; where it can't tell, the deadline decides."""
        self._git = git
        self._author = author
        self._ref = refs(issue)[1]
        self._is_over = is_over
        self._held: tuple[str, Lease] | None = None

    def take(self, journal_id: str, run: RunId, *, seconds: float, head: str | None, now: datetime) -> None:
        """Claim the issue; ``head`` is the lease's commit as fetched.

        Raises ``RunningError`` with the holder's link.
        """
        self._refuse_if_held(head, run, now)
        deadline = now + timedelta(seconds=seconds) + GRACE
        lease = Lease(
            journal_id=journal_id,
            run=run,
            taken_at=now.isoformat(),
            deadline=deadline.isoformat(timespec="seconds"),
        )
        try:
            self._held = (self._push(lease, head), lease)
        except SupersededError as exc:
            raise RunningError("Another run took this issue at the same moment.") from exc

    def release(self, now: datetime) -> None:
        """Let go: the lease stays as a record whose deadline is over."""
        if self._held:
            head, lease = self._held
            self._held = None
            self._push(Lease(**(vars(lease) | {"deadline": now.isoformat(timespec="seconds")})), head)

    def _refuse_if_held(self, head: str | None, run: RunId, now: datetime) -> None:
        content = self._git.read(head, LEASE_FILE) if head else None
        if content is None:
            return
        lease: dict[str, Any] = json.loads(content)
        holder = RunId(**lease["run"])
        dead = datetime.fromisoformat(lease["deadline"]) <= now or holder == run or self._is_over(holder)
        if not dead:
            raise RunningError("A run is already at work on this issue.", holder.url)

    def _push(self, lease: Lease, head: str | None) -> str:
        tree = self._git.file_tree(LEASE_FILE, json.dumps(asdict(lease), indent=1).encode())
        made = self._git.commit(tree, [head] if head else [], "autobuild lease\n", self._author)
        self._git.push(Update(commit=made, ref=self._ref))
        return made

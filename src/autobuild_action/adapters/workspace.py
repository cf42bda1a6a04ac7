"""The work trees of a run: handed to a session, taken back from it, brought back to a commit for the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action.adapters.checkout import Checkout
from autobuild_action.adapters.git import Author, Git
from autobuild_action.adapters.takeover import MOST_PATHS_KEPT, Taken, take_over
from autobuild_action.model import Committed, DiffStat, Unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from autobuild_action.model import Dispute

PLAYER, COACH, SCRATCH = "player", "coach", "scratch"


class Workspace:
    """The trees of one run, below one folder that nobody else can list."""

    def __init__(self, git: Git, folder: Path, author: Author, *, template: Path | None = None) -> None:
        """Keep trees in ``folder``; ``template`` holds what the set-up command left in a checkout."""
        self.git = git
        self.author = author
        self._folder = folder
        self.template = template

    @property
    def template(self) -> Path | None:
        """What the set-up command left in a checkout."""
        return self._template

    @template.setter
    def template(self, tree: Path | None) -> None:
        """Take over a tree of ours without its tracked files, which later commits may have deleted."""
        if tree and tree == self.tree(tree.parent.name):
            self._checkout(tree.parent.name).remove_tracked()
        self._template = tree

    def tree(self, role: str) -> Path:
        """The folder that a session of this role works in: the same one every turn."""
        return self._folder / role / "work"

    def prepare(self, role: str, commit: str, hand_over: Callable[[Path], bool]) -> Path:
        """Make the role's tree exactly ``commit`` plus the template, with a throw-away ``.git``.

        ``hand_over`` gives the tree to whoever will work in it, and answers whether files got another owner.
        """
        checkout = self._checkout(role)
        checkout.restore(commit, template=self.template)
        checkout.seed(commit, self._folder / "seed.git")
        if hand_over(checkout.folder):
            checkout.settle()
        checkout.hand_over()
        return checkout.folder

    def touched(self, role: str) -> bool:
        """True where a tracked file of the role's tree is not as it was handed out."""
        changed, gone = self._checkout(role).changed()
        return bool(changed or gone)

    def take(self, base: str) -> Taken:
        """The Player's tree as a git tree, path by path; what the policy refuses stays as it was before.

        ``base`` is the commit whose ``.gitignore`` files count; those the Player wrote do not.
        """
        return take_over(self._checkout(PLAYER), base, self.template)

    def commit(self, turn: int, parent: str, taken: Taken, message: str) -> Committed:
        """Make the turn's commit on ``parent``."""
        commit = self.git.commit(taken.tree, [parent], message, self.author)
        return Committed(
            turn=turn, commit=commit, tree=taken.tree, refused=taken.refused, needs_person=taken.needs_person
        )

    def unchanged(self, turn: int, head: str | None, taken: Taken, disputes: Sequence[Dispute]) -> Unchanged:
        """The fact of a turn that changed nothing."""
        return Unchanged(turn=turn, commit=head, disputes=tuple(disputes), refused=taken.refused)

    def diff_stat(self, base: str, head: str) -> DiffStat:
        """What ``head`` changes against ``base``."""
        rows = self.git.numstat(base, head)
        return DiffStat(
            files=len(rows),
            insertions=sum(more for _, more, _ in rows),
            deletions=sum(less for _, _, less in rows),
            paths=tuple(path for path, _, _ in rows)[:MOST_PATHS_KEPT],
        )

    def _checkout(self, role: str) -> Checkout:
        return Checkout(self.git, self.tree(role), self._folder / role / "index")

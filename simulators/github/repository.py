"""One repository: what people do in it in the browser, what tests ask of it, what GitHub does by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from simulators.github import events
from simulators.github.git import PERSON, ChangedFile, Git
from simulators.github.state import (
    ROLES,
    Comment,
    Issue,
    Label,
    Pull,
    Rename,
    Review,
    ReviewComment,
    Role,
    Run,
    Status,
    Thing,
    User,
    Written,
)

if TYPE_CHECKING:
    from simulators.github.hub import GitHub


class Repository(Thing):
    """One repository: its git, its issues, and the settings that decide what is refused."""

    prefix = "R"

    def __init__(  # noqa: PLR0913  # hub.repository() fills in the usual
        self, hub: GitHub, owner: User, name: str, *, git: Git, private: bool, default_branch: str
    ) -> None:
        super().__init__(id=hub.next_id(), created_at=hub.now())
        self.hub, self.owner, self.name, self.git = hub, owner, name, git
        self.private, self.default_branch = private, default_branch
        self.roles: dict[str, Role] = {owner.login: "admin"}
        self.labels: dict[str, Label] = {}
        self.issues: dict[int, Issue] = {}
        self.status_list: list[Status] = []
        self.runs: dict[int, Run] = {}
        self.actions_may_open_pulls = True
        self.drafts_supported = True

    # What tests ask

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    @property
    def url(self) -> str:
        return f"{self.hub.origin}/{self.full_name}"

    @property
    def clone_url(self) -> str:
        return f"{self.url}.git"

    @property
    def pulls(self) -> list[Pull]:
        self.refresh()
        return [issue for issue in self.issues.values() if isinstance(issue, Pull)]

    def pull(self, number: int) -> Pull:
        return next(pull for pull in self.pulls if pull.number == number)

    def comments(self, number: int) -> list[Comment]:
        return self.issues[number].comments

    def labels_of(self, number: int) -> list[str]:
        return [label.name for label in self.issues[number].labels]

    def reactions(self, number: int) -> list[tuple[str, str]]:
        return [(reaction.user.login, reaction.content) for reaction in self.issues[number].reactions]

    def reviews(self, number: int) -> list[Review]:
        return self.pull(number).reviews

    def review_comments(self, number: int) -> list[ReviewComment]:
        return self.pull(number).review_comments

    def statuses(self, revision: str) -> list[Status]:
        """Newest first, as GitHub lists them."""
        sha = self.git.resolve(revision)
        return [status for status in reversed(self.status_list) if status.sha == sha]

    def files_at(self, revision: str) -> dict[str, str]:
        return self.git.files(revision)

    def diff_of(self, pull: Pull, head: str | None = None) -> tuple[ChangedFile, ...]:
        return self.git.diff(pull.base_sha, head or pull.head_sha)

    def role_of(self, user: User) -> Role:
        return self.roles.get(user.login, "none" if self.private else "read")

    def allows(self, user: User, role: Role) -> bool:
        return ROLES.index(self.role_of(user)) >= ROLES.index(role)

    def written(self) -> Iterator[Written]:
        """Every text in it, with the pull requests' reviews."""
        for issue in self.issues.values():
            yield from (issue, *issue.comments)
            if isinstance(issue, Pull):
                yield from (*issue.reviews, *issue.review_comments)

    # What people do

    def open_issue(self, *, author: str, title: str, body: str = "", labels: tuple[str, ...] = ()) -> Issue:
        issue = Issue(number=self.next_number(), title=title, **self.hub.written(author, body))
        self.issues[issue.number] = issue
        for name in labels:
            self.add_label(issue, name)
        return issue

    def open_pull(  # noqa: PLR0913  # all but three have defaults
        self,
        *,
        author: str,
        head: str,
        base: str = "",
        title: str,
        body: str = "",
        draft: bool = False,
        fork: str | None = None,
    ) -> Pull:
        """A pull request; with `fork`, its head lies in that person's fork (`commit(…, fork=…)`)."""
        base = base or self.default_branch
        head_ref = f"refs/forks/{fork}/{head}" if fork else f"refs/heads/{head}"
        head_sha, base_sha = self.git.sha(head_ref), self.git.sha(f"refs/heads/{base}")
        pull = Pull(
            number=self.next_number(),
            title=title,
            base=base,
            head=head,
            fork=fork,
            draft=draft,
            head_sha=head_sha,
            base_sha=base_sha,
            **self.hub.written(author, body),
        )
        self.issues[pull.number] = pull
        self.git("update-ref", f"refs/pull/{pull.number}/head", head_sha)
        return pull

    def commit(
        self,
        branch: str,
        files: Mapping[str, str | bytes | None],
        *,
        message: str = "Change",
        author: str = PERSON,
        fork: str | None = None,
    ) -> str:
        """A push by somebody; a new branch, or a fork's, starts at the default branch. Answers the commit."""
        ref = f"refs/forks/{fork}/{branch}" if fork else f"refs/heads/{branch}"
        start = self.git.resolve(f"refs/heads/{self.default_branch}")
        if start and not self.git.resolve(ref):
            self.git("update-ref", ref, start)
        return self.git.commit(ref, files, message=message, author=author)

    def comment(self, number: int, body: str, *, author: str) -> Comment:
        comment = Comment(number=number, **self.hub.written(author, body))
        self.issues[number].comments.append(comment)
        return comment

    def label(self, name: str, color: str = "ededed", description: str | None = None) -> Label:
        """The label of that name, made if missing; names don't differ by case alone."""
        new = Label(name=name, color=color, description=description, **self.hub.thing())
        return self.labels.setdefault(name.lower(), new)

    def add_label(self, issue: Issue, name: str) -> Label:
        label = self.label(name)
        if label not in issue.labels:
            issue.labels.append(label)
        return label

    def remove_label(self, issue: Issue, name: str) -> None:
        issue.labels.remove(self.labels[name.lower()])

    def edit_issue(
        self,
        number: int,
        *,
        by: str = "",
        title: str | None = None,
        body: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Edit title or body; `at` is when that was (now, unless told)."""
        issue, when = self.issues[number], at or self.hub.now()
        user = self.hub.users[by] if by else issue.user
        if body is not None:
            issue.edit(body, when)
        if title is not None and title != issue.title:
            rename = Rename(id=self.hub.next_id(), created_at=when, user=user, previous=issue.title, current=title)
            issue.renames.append(rename)
            issue.title, issue.updated_at = title, when

    def set_state(
        self, number: int, state: Literal["open", "closed"], *, by: str = "", reason: str | None = None
    ) -> None:
        issue = self.issues[number]
        user = self.hub.users[by] if by else issue.user
        issue.state, issue.updated_at = state, self.hub.now()
        issue.closed_at, issue.closed_by = (self.hub.now(), user) if state == "closed" else (None, None)
        issue.state_reason = reason or ("completed" if state == "closed" else "reopened")

    def merge(self, number: int, *, by: str) -> str:
        """Merge a pull request the way the green button does; answers the merge commit."""
        pull = self.pull(number)
        tree = self.git("merge-tree", "--write-tree", pull.base_sha, pull.head_sha).split()[0]
        identity = ("-c", f"user.name={by}", "-c", f"user.email={by}@users.noreply.github.com")
        parents = ("-p", pull.base_sha, "-p", pull.head_sha)
        commit = self.git(*identity, "commit-tree", tree, *parents, "-m", f"Merge pull request #{number}")
        self.git("update-ref", f"refs/heads/{pull.base}", commit)
        self.set_state(number, "closed", by=by)
        pull.merged_at, pull.merged_by, pull.merge_commit = pull.closed_at, self.hub.users[by], commit
        return commit

    def add_run(
        self, run_id: int, *, status: str = "in_progress", conclusion: str | None = None, attempt: int = 1
    ) -> Run:
        run = Run(id=run_id, created_at=self.hub.now(), status=status, conclusion=conclusion, attempt=attempt)
        self.runs[run_id] = run
        return run

    def refuse_pushes(self, reasons: Mapping[str, str]) -> None:
        """From now on the server refuses these refs: pattern -> the words it says."""
        self.git.refuse(reasons)

    # What starts a run

    def label_event(self, issue: Issue | int, name: str, *, sender: str) -> events.Event:
        """Set the label and answer the event that GitHub sends for it."""
        found = issue if isinstance(issue, Issue) else self.issues[issue]
        return events.labeled(self, found, self.add_label(found, name), self.hub.users[sender])

    def comment_event(self, issue: Issue | int, body: str, *, author: str) -> events.Event:
        """Comment and answer the event that GitHub sends for it."""
        number = issue.number if isinstance(issue, Issue) else issue
        return events.commented(self, self.issues[number], self.comment(number, body, author=author))

    def dispatch_event(self, *, inputs: Mapping[str, Any], sender: str) -> events.Event:
        return events.dispatched(self, inputs, self.hub.users[sender])

    # What GitHub does by itself

    def next_number(self) -> int:
        return len(self.issues) + 1

    def refresh(self) -> None:
        """After a push: open pull requests follow their branches, and close when the branch is gone."""
        with self.hub.lock:
            refs = self.git.refs()
            for pull in self.issues.values():
                if isinstance(pull, Pull) and pull.state == "open":
                    self.follow(pull, refs)

    def follow(self, pull: Pull, refs: Mapping[str, str]) -> None:
        head = refs.get(pull.head_ref)
        pull.base_sha = refs.get(f"refs/heads/{pull.base}", pull.base_sha)
        if head is None:
            self.set_state(pull.number, "closed")
        elif head != pull.head_sha:
            pull.head_sha, pull.updated_at = head, self.hub.now()
            self.git("update-ref", f"refs/pull/{pull.number}/head", head)

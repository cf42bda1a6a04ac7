"""What GitHub remembers: the records that a repository is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from simulators.github.repository import Repository

ACTIONS = "github-actions[bot]"
Role = Literal["none", "read", "triage", "write", "maintain", "admin"]
ROLES: tuple[Role, ...] = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(kw_only=True, eq=False)
class Thing:
    """Whatever has an id and a date."""

    id: int
    created_at: datetime
    prefix = "X"

    @property
    def node_id(self) -> str:
        return f"{self.prefix}_{self.id}"


@dataclass(kw_only=True, eq=False)
class User(Thing):
    prefix = "U"
    login: str
    kind: Literal["User", "Bot"]


@dataclass(kw_only=True)
class Token:
    """`permissions` None: a person's token, good for all that the person may do."""

    value: str
    user: User
    repository: Repository | None
    permissions: Mapping[str, str] | None

    def grants(self, scope: str, level: str) -> bool:
        given = "write" if self.permissions is None else self.permissions.get(scope, "none")
        return given in {"write", level}

    def sees(self, repository: Repository) -> bool:
        if self.permissions is not None:
            return self.repository is repository or not repository.private
        return repository.allows(self.user, "read")


@dataclass(kw_only=True, eq=False)
class Label(Thing):
    prefix = "LA"
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(kw_only=True, eq=False)
class Reaction(Thing):
    prefix = "REA"
    user: User
    content: str


@dataclass(kw_only=True, eq=False)
class Written(Thing):
    """A text somebody wrote."""

    user: User
    body: str
    updated_at: datetime
    last_edited_at: datetime | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list)

    def edit(self, body: str, at: datetime) -> None:
        self.body, self.updated_at, self.last_edited_at = body, at, at


@dataclass(kw_only=True, eq=False)
class Comment(Written):
    prefix = "IC"
    number: int
    """of the issue or pull request it stands on"""


@dataclass(kw_only=True, eq=False)
class Rename(Thing):
    prefix = "RTE"
    user: User
    previous: str
    current: str


@dataclass(kw_only=True, eq=False)
class Issue(Written):
    prefix = "I"
    number: int
    title: str
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    labels: list[Label] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)


@dataclass(kw_only=True, eq=False)
class Review(Written):
    prefix = "PRR"
    state: str
    commit_id: str
    submitted_at: datetime | None


@dataclass(kw_only=True, eq=False)
class Place:
    """Where in the diff of which commit a comment stands."""

    commit_id: str
    path: str
    line: int
    side: str
    start_line: int | None
    start_side: str | None
    hunk: str


@dataclass(kw_only=True, eq=False)
class ReviewComment(Written, Place):
    prefix = "PRRC"
    review: Review | None
    in_reply_to: ReviewComment | None = None


@dataclass(kw_only=True, eq=False)
class Thread(Thing):
    prefix = "PRRT"
    comments: list[ReviewComment]
    resolved_by: User | None = None


@dataclass(kw_only=True, eq=False)
class Pull(Issue):
    prefix = "PR"
    base: str
    head: str
    fork: str | None
    """owner of the fork the head lies in"""
    head_sha: str
    base_sha: str
    draft: bool
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit: str | None = None
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    requested_reviewers: list[User] = field(default_factory=list)

    @property
    def head_ref(self) -> str:
        return f"refs/forks/{self.fork}/{self.head}" if self.fork else f"refs/heads/{self.head}"

    @property
    def review_comments(self) -> list[ReviewComment]:
        return [comment for thread in self.threads for comment in thread.comments]


@dataclass(kw_only=True, eq=False)
class Status(Thing):
    prefix = "SC"
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: User


@dataclass(kw_only=True, eq=False)
class Run(Thing):
    prefix = "WFR"
    status: str
    conclusion: str | None
    attempt: int

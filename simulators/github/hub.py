"""The whole of the simulated GitHub: its people, tokens and repositories, and the switches of a test."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from simulators.github.git import Git
from simulators.github.repository import Repository
from simulators.github.server import Fault, Request, Server
from simulators.github.state import ACTIONS, Role, Token, User

ACTIONS_ID = 41898282


class GitHub:
    """A GitHub on 127.0.0.1, laid out like GitHub Enterprise Server; ends with its `with` block.

    `fault(method, path, body)` may answer a Fault for any request: paths as in GitHub's documentation
    (`/repos/o/r/issues`), `/graphql`, or git's (`/o/r.git/git-receive-pack`, `/o/r.git/info/refs?service=…`).
    `journal` has every request, `violations` what GitHub's descriptions don't know: tests assert it is empty.
    """

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self.folder = folder
        self.users: dict[str, User] = {}
        self.repositories: dict[str, Repository] = {}
        self.tokens: dict[str, Token] = {}
        self.journal: list[Request] = []
        self.violations: list[str] = []
        self.fault: Callable[[str, str, Any], Fault | None] | None = None
        self.latency = 0.0
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.lock = threading.RLock()
        self._ids = itertools.count(1001)
        self._server = Server(self, port)
        self.origin = f"http://127.0.0.1:{self._server.port}"
        self.api = f"{self.origin}/api/v3"
        self.graphql = f"{self.origin}/api/graphql"
        self.bot(ACTIONS, id=ACTIONS_ID)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()

    # People and places

    def user(self, login: str, *, id: int | None = None) -> User:  # noqa: A002  # GitHub's word
        return self._person(login, "User", id)

    def bot(self, login: str, *, id: int | None = None) -> User:  # noqa: A002  # GitHub's word
        return self._person(login, "Bot", id)

    def _person(self, login: str, kind: Literal["User", "Bot"], given: int | None) -> User:
        found = self.users.get(login) or User(id=given or self.next_id(), created_at=self.now(), login=login, kind=kind)
        return self.users.setdefault(login, found)

    def repository(  # noqa: PLR0913  # all but the name have defaults
        self,
        full_name: str,
        *,
        private: bool = False,
        files: Mapping[str, str | bytes] | None = None,
        roles: Mapping[str, Role] | None = None,
        default_branch: str = "main",
        object_format: Literal["sha1", "sha256"] = "sha1",
    ) -> Repository:
        """A repository with one commit of these files (empty without); missing people are made."""
        owner, _, name = full_name.partition("/")
        git = Git(self.folder / f"{full_name}.git")
        git.create(default_branch, object_format)
        if files:
            git.commit(f"refs/heads/{default_branch}", files, message="Start")
        repo = Repository(self, self.user(owner), name, git=git, private=private, default_branch=default_branch)
        for login, role in (roles or {}).items():
            repo.roles[self.user(login).login] = role
        self.repositories[full_name.lower()] = repo
        return repo

    def token(self, login: str, repo: Repository | None = None, *, permissions: Mapping[str, str] | None = None) -> str:
        """A bot's has the permissions named, for that repository; a person's may do what the person may."""
        user = self.users[login]
        given = dict(permissions or {}) if user.kind == "Bot" or permissions is not None else None
        value = f"{'ghp' if given is None else 'ghs'}_{secrets.token_hex(18)}"
        self.tokens[value] = Token(value=value, user=user, repository=repo, permissions=given)
        return value

    def revoke(self, token: str) -> None:
        """The token has ended: 401 from now on."""
        del self.tokens[token]

    def find(self, full_name: str) -> Repository | None:
        return self.repositories.get(full_name.lower())

    # For the records

    def next_id(self) -> int:
        return next(self._ids)

    def now(self) -> datetime:
        return self.clock().replace(microsecond=0)

    def thing(self) -> dict[str, Any]:
        return {"id": self.next_id(), "created_at": self.now()}

    def written(self, login: str, body: str) -> dict[str, Any]:
        now = self.now()
        return {
            "id": self.next_id(),
            "created_at": now,
            "updated_at": now,
            "user": self.users[login],
            "body": body,
        }

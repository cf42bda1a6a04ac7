"""What an endpoint gets and gives, and the list of endpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from simulators.github import refusals
from simulators.github.descriptions import Operation
from simulators.github.state import Issue, Pull, Role, Token, User

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.repository import Repository

Json = Any


@dataclass
class Answer:
    status: int
    body: Json = None
    headers: dict[str, str] = field(default_factory=dict)
    template: str = ""


class Read(dict[str, Any]):
    """What was sent, remembering what was looked at: a key that nobody reads is not modelled."""

    def __init__(self, sent: Mapping[str, Any]) -> None:
        super().__init__(sent)
        self.unread = set(sent)

    def get(self, key: str, default: Any = None) -> Any:
        self.unread.discard(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.unread.discard(key)
        return super().__getitem__(key)


@dataclass
class Call:
    """What an endpoint gets: who asks for what."""

    hub: GitHub
    operation: Operation
    token: Token | None
    parameters: Mapping[str, str]
    query: Read
    body: Read

    @property
    def user(self) -> User:
        if self.token is None:
            raise refusals.requires_authentication()
        return self.token.user

    @property
    def repo(self) -> Repository:
        found = self.hub.find(f"{self.parameters['owner']}/{self.parameters['repo']}")
        seen = found and (self.token.sees(found) if self.token else not found.private)
        if found is None or not seen:
            raise refusals.not_found()
        return found

    @property
    def issue(self) -> Issue:
        return self._numbered("issue_number")

    @property
    def pull(self) -> Pull:
        found = self._numbered("pull_number")
        if not isinstance(found, Pull):
            raise refusals.not_found()
        return found

    def _numbered(self, parameter: str) -> Issue:
        found = self.repo.issues.get(int(self.parameters[parameter]))
        if found is None:
            raise refusals.not_found()
        return found

    def page(self, items: Sequence[Json]) -> tuple[Sequence[Json], dict[str, str]]:
        """The page asked for and its Link header."""
        size, number = min(self.query.get("per_page", 30), 100), self.query.get("page", 1)
        last = max(1, -(-len(items) // size))
        others = {"first": 1, "prev": number - 1} if number > 1 else {}
        others |= {"next": number + 1, "last": last} if number < last else {}
        link = ", ".join(f'<{self._url(page)}>; rel="{name}"' for name, page in others.items())
        return items[(number - 1) * size : number * size], {"Link": link} if link else {}

    def _url(self, page: int) -> str:
        path = self.operation.template
        for name, value in self.parameters.items():
            path = path.replace(f"{{{name}}}", quote(value))
        return f"{self.hub.api}{path}?{urlencode({**self.query, 'page': page})}"


@dataclass(frozen=True)
class Endpoint:
    handler: Callable[[Call], Answer | Json]
    scopes: tuple[str, ...]
    """permissions of a token, any of which will do"""
    role: Role
    """what a person must be"""


ENDPOINTS: dict[str, Endpoint] = {}
Handler = Callable[[Call], Json]


def endpoint(operation: str, *scopes: str, role: Role = "read") -> Callable[[Handler], Handler]:
    """This function answers the operation of that id."""

    def register(handler: Handler) -> Handler:
        ENDPOINTS[operation] = Endpoint(handler, scopes, role)
        return handler

    return register

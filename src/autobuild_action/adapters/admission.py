"""Who may make which request at the broker: sessions with their budgets, and what none of them may ask."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from autobuild_action.adapters.meter import Tally

PARALLEL_REQUESTS = 8
"""What one session may have under way; bounds memory, and by how much it can overshoot its budget."""


class RefusedError(Exception):
    """A request that goes no further; carries the answer in the form of the Messages API."""

    def __init__(self, status: int, kind: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.body = json.dumps({"type": "error", "error": {"type": kind, "message": text}}).encode()

    @property
    def final(self) -> bool:
        """Asking again would not help; Claude Code tries most errors ten times over minutes otherwise."""
        return self.status not in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY)


def unauthorised() -> RefusedError:
    """The answer to a nonce that is unknown, or no longer open."""
    return RefusedError(401, "authentication_error", "this session is not open at the broker")


def unreachable(exc: Exception) -> RefusedError:
    """The answer where the service can't be reached; Claude Code tries again."""
    text = f"the model service could not be reached: {type(exc).__name__}: {exc}"
    return RefusedError(502, "api_error", text)


class Session:
    """What the holder of one nonce may still do, and what it has used."""

    def __init__(self, budget_usd: float, strangers: int) -> None:
        """`strangers` is the server's count of refusals that belong to nobody, at this moment."""
        self.strangers = strangers
        self.closed = False
        self.used = Tally()
        self.requests = self.refused = 0
        self._budget_usd = budget_usd
        self._over_budget = False
        self._under_way = 0
        self._sockets: set[socket.socket] = set()
        self._change = threading.Condition()

    @contextlib.contextmanager
    def place(self, client: socket.socket) -> Iterator[None]:
        """Hold one of the session's places for a request, if it still has the right to make one."""
        with self._change:
            if self.used.cost_usd >= self._budget_usd:
                self._over_budget = True
                # 402: of the statuses tried, one that ends the CLI after a single request and isn't
                # taken for a wrong key (400 made it ask six times, 403 "failed to authenticate")
                raise RefusedError(402, "billing_error", "The budget of this session is used up.")
            if self._under_way >= PARALLEL_REQUESTS:
                raise RefusedError(429, "rate_limit_error", "too many requests at once in this session")
            self._under_way += 1
            self._sockets.add(client)
        try:
            yield
        finally:
            with self._change:
                self._under_way -= 1
                self._sockets.discard(client)
                self._change.notify_all()

    @contextlib.contextmanager
    def request(self, upstream: socket.socket) -> Iterator[None]:
        """Count a request that goes out, while the session is open; closing it cuts the connection."""
        with self._change:
            if self.closed:
                raise unauthorised()
            self.requests += 1
            self._sockets.add(upstream)
        try:
            yield
        finally:
            with self._change:
                self._sockets.discard(upstream)

    def charge(self, tally: Tally) -> None:
        with self._change:
            self.used = self.used.plus(tally)

    def refuse(self) -> None:
        with self._change:
            self.refused += 1

    def close(self, strangers: int) -> dict[str, object]:
        """Cut what is under way and say what was used."""
        with self._change:
            self.closed = True
            for each in self._sockets:
                with contextlib.suppress(OSError):  # gone already
                    socket.socket.shutdown(each, socket.SHUT_RDWR)  # ssl's own would race its reader
            self._change.wait_for(lambda: not self._under_way, timeout=2)
            return {
                "usage": self.used._asdict(),
                "requests": self.requests,
                "refused": self.refused + strangers - self.strangers,
                "over_budget": self._over_budget,
            }


def screened(body: bytes) -> dict[str, Any]:
    """Parse a request and refuse what would have the service reach out for the session.

    Tools that run at the service, and contents given by address, are a way round "no network".
    """
    try:
        request = json.loads(body, object_pairs_hook=_plain_object)
    except (ValueError, RecursionError) as exc:
        raise RefusedError(400, "invalid_request_error", "the request is not plain JSON") from exc
    if not isinstance(request, dict):
        raise RefusedError(400, "invalid_request_error", "the request is not a JSON object")
    tools = request.get("tools", [])
    if not isinstance(tools, list) or not all(
        isinstance(tool, dict) and tool.get("type", "custom") == "custom" for tool in tools
    ):
        raise RefusedError(403, "permission_error", "only the session's own tools may be offered")
    if request.get("mcp_servers") or request.get("speed", "standard") != "standard":
        raise RefusedError(403, "permission_error", "mcp_servers and speed are not allowed")
    return request


def _plain_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # two readers could take it for two different requests
        raise ValueError("a name twice in one object")
    source = found.get("source")
    if isinstance(source, dict) and source.get("type") in ("url", "file"):
        raise RefusedError(403, "permission_error", "contents must be in the request itself")
    return found

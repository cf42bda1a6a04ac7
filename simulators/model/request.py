"""What a client posted, with the questions that scripts and tests ask of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Request:
    """One POST to the Messages API, kept whole; `role` and `session` (from 1) are None if no script fits."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Mapping[str, Any]
    role: str | None = None
    session: int | None = None

    @property
    def system(self) -> list[str]:
        return list(_texts(self.body.get("system", [])))

    @property
    def system_text(self) -> str:
        return "\n".join(self.system)

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def text(self) -> str:
        """All text of all messages, tool results included."""
        return "\n".join(text for message in self.messages for text in _texts(message["content"]))

    @property
    def first_user_text(self) -> str:
        return next(("\n".join(_texts(m["content"])) for m in self.messages if m["role"] == "user"), "")

    @property
    def tool_results(self) -> list[str]:
        """The text of every tool result; the CLI adds reminders, so search in it, never compare."""
        blocks = (block for m in self.messages if isinstance(m["content"], list) for block in m["content"])
        return ["\n".join(_texts([block])) for block in blocks if block["type"] == "tool_result"]

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream", False))

    @property
    def session_id(self) -> str | None:
        return self.headers.get("x-claude-code-session-id")

    @property
    def api_key(self) -> str | None:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer or None

    @property
    def step(self) -> int:
        """How many answers this session had; unlike len(messages) right despite retries and reminders."""
        return sum(message["role"] == "assistant" for message in self.messages)


def _texts(content: str | list[Mapping[str, Any]]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result":
            yield from _texts(block.get("content", ""))

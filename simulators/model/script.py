"""The words of a script: which role says what in which session, and where the service fails."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from .request import Request


class ScriptError(Exception):
    """A script file that cannot be understood."""


@dataclass(frozen=True)
class Say:
    """A text block."""

    text: str


@dataclass(frozen=True)
class Use:
    """A tool call; a tool that the request does not offer is a violation unless `offered` is False."""

    tool: str
    input: Mapping[str, Any]
    offered: bool = True


def structured(value: Mapping[str, Any]) -> Use:
    """Answer with the session's structured output."""
    return Use("StructuredOutput", value)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What an answer is said to have cost, in tokens."""

    input_tokens: int = 100
    output_tokens: int = 50
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


Block: TypeAlias = Say | Use


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A message of the model; without a stop reason it is `tool_use` or `end_turn`, whichever fits.

    To end a session (measured with CLI 2.1.327): `refusal` once without blocks, or twice with a text,
    since the CLI then asks again; `max_tokens` four times.
    """

    blocks: Sequence[Block]
    stop_reason: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, kw_only=True)
class _Fault:
    """Happens `times` times before the reply that follows; None is for ever."""

    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class Refuse(_Fault):
    """An HTTP error of the service."""

    status: int = 529
    error_type: str = "overloaded_error"
    message: str = "Overloaded"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Hang(_Fault):
    """No answer for so long, then a closed connection."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class CutStream(_Fault):
    """An answer that ends in the middle of a word."""


@dataclass(frozen=True, kw_only=True)
class Garbage(_Fault):
    """Status 200 with a body that is no message."""


Fault: TypeAlias = Refuse | Hang | CutStream | Garbage
Message: TypeAlias = Block | Sequence[Block] | Answer
Spoken: TypeAlias = Message | Callable[[Request], Message]
Reply: TypeAlias = Spoken | Fault


@dataclass(frozen=True, kw_only=True)
class Session:
    """What one session is answered, in order, and what its first request must and must not hold."""

    replies: Sequence[Reply]
    expect: Sequence[str] = ()
    forbid: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Script:
    """Each role's sessions, in the order in which they will start."""

    roles: Mapping[str, Sequence[Session]]


def answer_of(message: Message) -> Answer:
    match message:
        case Answer():
            return message
        case Say() | Use():
            return Answer(blocks=(message,))
        case _:
            return Answer(blocks=tuple(message))


def load(path: Path) -> Script:
    """Read a script from a file, which is YAML unless its name ends in .json."""
    read = json.loads if path.suffix == ".json" else yaml.safe_load
    return parse(read(path.read_text(encoding="utf-8")))


def parse(roles: Mapping[str, Sequence[Mapping[str, Any]]]) -> Script:
    """Turn `{role: [{replies: [...], expect: [...], forbid: [...]}]}` into a script."""
    return Script(roles={role: [_session(each) for each in sessions] for role, sessions in roles.items()})


def _session(data: Mapping[str, Any]) -> Session:
    return Session(**{**data, "replies": [_reply(reply) for reply in data["replies"]]})


_FAULTS: Mapping[str, type[Fault]] = {
    "refuse": Refuse,
    "hang": Hang,
    "cut_stream": CutStream,
    "garbage": Garbage,
}


def _reply(data: Any) -> Reply:
    match data:
        case list():
            return [_block(block) for block in data]
        case {"blocks": _}:
            return _answer(data)
        case dict() if len(data) == 1 and (fault := _FAULTS.get(*data)):
            return fault(**next(iter(data.values())))
        case _:
            return _block(data)


def _answer(data: Mapping[str, Any]) -> Answer:
    blocks = [_block(block) for block in data["blocks"]]
    return Answer(**{**data, "blocks": blocks, "usage": Usage(**data.get("usage", {}))})


def _block(data: Any) -> Block:
    match data:
        case {"say": str(text)}:
            return Say(text)
        case {"use": str(tool), "input": dict(value)}:
            return Use(tool, value, offered=data.get("offered", True))
        case {"structured": dict(value)}:
            return structured(value)
        case _:
            known = ", ".join(["say", "use with input", "structured", "blocks", *_FAULTS])
            raise ScriptError(f"not a reply: {data!r}; known are {known}")

"""A Messages API on loopback that plays scripts: the real SDK and CLI without a model."""

from .request import Request
from .script import (
    Answer,
    CutStream,
    Garbage,
    Hang,
    Refuse,
    Reply,
    Say,
    Script,
    ScriptError,
    Session,
    Usage,
    Use,
    load,
    parse,
    structured,
)
from .server import ModelServer

__all__ = [
    "Answer",
    "CutStream",
    "Garbage",
    "Hang",
    "ModelServer",
    "Refuse",
    "Reply",
    "Request",
    "Say",
    "Script",
    "ScriptError",
    "Session",
    "Usage",
    "Use",
    "load",
    "parse",
    "structured",
]

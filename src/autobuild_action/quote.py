"""Somebody else's value inside a sentence of ours: a fault, a refusal, a note."""

from __future__ import annotations

from autobuild_action import text


def code(value: object, *, limit: int = 60) -> str:
    """``value`` as inline code, inert and cut to ``limit`` characters (:func:`text.code`)."""
    return text.code(str(value), limit)

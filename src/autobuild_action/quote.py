"""Somebody else's words inside a sentence of ours."""

from __future__ import annotations

import re

SPACES = re.compile(r"\s+")


def code(value: object, *, limit: int = 60) -> str:
    """``value`` as inline code on one line: inert as Markdown, no mention, every odd character escaped.

    It is cut to ``limit`` characters (an ellipsis says so), so that a fault or a note stays a sentence.
    """
    line = SPACES.sub(" ", str(value)).strip().replace("`", "'")
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in line)
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return f"`{shown}`" if shown else "(nothing)"

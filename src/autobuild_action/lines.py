"""Where GitHub lets a review comment be: the lines of a diff's hunks, on the side of the new file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

if TYPE_CHECKING:
    from collections.abc import Mapping


def commentable(diff: str) -> Mapping[str, tuple[range, ...]]:
    """Each changed path's line ranges, one for each hunk of a ``git diff -U3``; empty for a diff that can't be read.

    A hunk's lines are its changed lines and the three of context around them (GitHub: "Line could not be resolved"
    for any other).
    """
    try:
        files = PatchSet(diff)
    except UnidiffParseError:
        return {}
    return {
        file.path: tuple(
            range(hunk.target_start, hunk.target_start + hunk.target_length) for hunk in file if hunk.target_length
        )
        for file in files
        if not file.is_removed_file
    }

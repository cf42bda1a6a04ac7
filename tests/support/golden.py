"""Golden files: what a text looks like; ``AUTOBUILD_UPDATE_GOLDEN=1`` writes them anew, to be read."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "golden"


def golden(name: str, made: str) -> str:
    """The text of a golden file, which becomes ``made`` first where that is asked for."""
    path = FOLDER / f"{name}.md"
    if os.environ.get("AUTOBUILD_UPDATE_GOLDEN"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(made + "\n", encoding="utf-8")
    return path.read_text(encoding="utf-8").removesuffix("\n")

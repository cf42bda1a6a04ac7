"""The trace: what happened, line by line as JSON, redacted, for people who look further."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

LONGEST_TEXT = 50_000


class Trace:
    """A folder with ``trace.jsonl`` and whatever else is worth keeping."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        """Make the folder; agents of this run must not read what others did."""
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.folder = folder
        self._redact = redact

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Add one line."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": kind, **data}
        text = self._redact(json.dumps(line, default=repr, ensure_ascii=False))
        with (self.folder / "trace.jsonl").open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(
                (text if len(text) <= LONGEST_TEXT else json.dumps({"kind": kind, "cut": text[:LONGEST_TEXT]})) + "\n"
            )

    def open(self) -> None:
        """Let the runner's user read it, now that no agent is left."""
        self.folder.chmod(0o755)

    def keep(self, name: str, text: str) -> None:
        """Keep a whole document."""
        (self.folder / name).write_text(self._redact(text), encoding="utf-8", errors="backslashreplace")

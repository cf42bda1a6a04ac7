"""The same four sessions without the product around them: ``python -m bench.bare URL FOLDER``."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

from autobuild_action.adapters import claude
from autobuild_action.adapters.sandbox import HostSandbox
from autobuild_action.model import Criterion, Level, Task
from autobuild_action.ports import Bounds, Identity, Spec
from autobuild_action.shapes import report_schema, verdict_schema
from bench.scenes import CHECK, FILES


def main(url: str, folder: Path) -> None:
    criteria = (Criterion(id="AC-1", text="a"), Criterion(id="AC-2", text="b"))
    task = Task(title="t", text="x", criteria=criteria, sha256="0")
    work = folder / "work"
    work.mkdir(parents=True)
    for name, text in FILES.items():
        (work / name).write_text(text)
    sandbox = HostSandbox(folder / "box", Level.NONE)
    for turn in (1, 2):
        for role in ("player", "coach"):
            session = f"{role}-{turn}"
            env = {**claude.ENVIRONMENT, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key"}
            spec = Spec(
                session=session,
                identity=Identity.PLAYER,
                argv=(str(claude.bundled_cli()),),
                work=work,
                limits=Bounds(seconds=60),
                env=env,
            )
            call = claude.Call(
                id=str(uuid.uuid4()),
                model="sonnet",
                launcher=sandbox.launcher(spec),
                work=work,
                system_file=sandbox.put(session, "system.md", f"You are the {role.title()}."),
                keep_preset=role == "player",
                prompt="Go.",
                tools=("Read", "Write", "Edit", "Bash", "Glob", "Grep")
                if role == "player"
                else ("Read", "Glob", "Grep"),
                schema=report_schema(task) if role == "player" else verdict_schema(task),
                max_steps=50,
                budget_usd=5,
                seconds=60,
                run=(lambda _: f"R1 exit 0, 0.1 s\n{CHECK}") if role == "coach" else None,
            )
            if claude.play(call, lambda *_: None).structured is None:
                raise SystemExit(f"{session} gave no answer")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

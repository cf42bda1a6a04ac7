"""The orchestrator's own work in one turn, on trees of different sizes: no session, no check, no network."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

from autobuild_action.adapters.git import Author, Git, Remote, Update
from autobuild_action.adapters.workspace import COACH, PLAYER, SCRATCH, Workspace


def repository(folder: Path, files: int) -> Path:
    """A bare repository with so many small files, a hundred in a folder."""
    source = folder / "source"
    for number in range(files):
        path = source / f"d{number // 100}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 20)
    commands = (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "-A"],
        ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "Start"],
    )
    for command in commands:
        subprocess.run(command, cwd=source, check=True, capture_output=True)
    bare = folder / "remote.git"
    subprocess.run(["git", "clone", "-q", "--bare", source, bare], check=True, capture_output=True)
    return bare


def a_turn(folder: Path, files: int, rounds: int) -> float:
    """Median seconds of a turn's own work: three trees made ready, one taken over, commit and push."""
    git = Git(folder / "git", Remote(url=str(repository(folder, files))))
    git.create()
    git.fetch("+refs/heads/main:refs/base", depth=1)
    base = head = git.text("rev-parse", "refs/base")
    workspace = Workspace(git, folder / "trees", Author(name="b", email="b@localhost"))
    for role in (PLAYER, COACH, SCRATCH):
        workspace.prepare(role, base, lambda _: False)
    seconds = []
    for turn in range(1, rounds + 1):
        started = time.monotonic()
        work = workspace.prepare(PLAYER, head, lambda _: False)
        (work / "d1" / f"new{turn}.py").write_text(f"turn = {turn}\n")
        change = workspace.commit(turn, head, workspace.take(base), f"turn {turn}\n")
        git.push(Update(commit=change.commit, ref="refs/heads/autobuild/issue-1"))
        head = change.commit
        workspace.prepare(SCRATCH, head, lambda _: False)
        workspace.prepare(COACH, head, lambda _: False)
        workspace.touched(COACH)
        workspace.diff_stat(base, head)
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds)

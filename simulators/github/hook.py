"""git's proc-receive hook: refuses what GitHub's servers refuse, lets git do the rest (runs alone)."""

import fnmatch
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

# The text as in repo-sync/github-sync#23, github/gh-aw-threat-detection#677, llm-d/llm-d#1260.
WORKFLOW = "refusing to allow a GitHub App to create or update workflow `{}` without `workflows` permission"


def packets() -> Iterator[bytes]:
    """The packets up to the next flush."""
    while True:
        size = int(sys.stdin.buffer.read(4), 16)
        if size < 4:
            return
        yield sys.stdin.buffer.read(size - 4)


def send(*texts: str) -> None:
    for text in texts:
        data = text.encode(errors="surrogateescape") + b"\n"
        sys.stdout.buffer.write(b"%04x" % (len(data) + 4) + data)
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], check=True, capture_output=True)
    return done.stdout.decode(errors="surrogateescape")


def workflow_changed(new: str) -> str | None:
    """The first workflow file that a commit new to this repository adds or changes."""
    for commit in git("rev-list", "--reverse", new, "--not", "--all").split():
        args = ("diff-tree", "-r", "-z", "-m", "--root", "--no-commit-id", "--diff-filter=AMT", commit)
        fields = git(*args, "--", ".github/workflows").split("\0")
        for meta, path in zip(fields[::2], fields[1::2], strict=False):
            if meta.split()[3] not in versions(path):
                return path
    return None


def versions(path: str) -> str:
    """Every version of the file that the repository has: carrying one of them along is fine."""
    return git("log", "--all", "--format=", "--raw", "--no-abbrev", "--", path)


def reason(new: str, ref: str, refusals: Mapping[str, str]) -> str | None:
    for pattern, text in refusals.items():
        if fnmatch.fnmatchcase(ref, pattern):
            return text
    if os.environ.get("SIMULATOR_REFUSES_WORKFLOWS") and set(new) != {"0"}:
        path = workflow_changed(new)
        return path and WORKFLOW.format(path)
    return None


def main() -> None:
    version = b"".join(packets())
    send("version=1\0atomic push-options" if b"push-options" in version else "version=1\0atomic")
    commands = [line.decode(errors="surrogateescape").rstrip("\n").split(" ", 2) for line in packets()]
    if b"push-options" in version:
        list(packets())
    refusals = json.loads(Path("refusals.json").read_text())
    answers = []
    for _, new, ref in commands:
        why = reason(new, ref, refusals)
        answers += [f"ng {ref} {why}"] if why else [f"ok {ref}", "option fall-through"]
    send(*answers)


if __name__ == "__main__":
    main()

"""git's proc-receive hook: refuses what GitHub's servers refuse, lets git do the rest (runs alone, standard library)."""

import fnmatch
import json
import os
import subprocess
import sys

# The text as in repo-sync/github-sync#23, github/gh-aw-threat-detection#677, llm-d/llm-d#1260.
WORKFLOW = "refusing to allow a GitHub App to create or update workflow `{}` without `workflows` permission"


def packets():
    """The packets up to the next flush."""
    while True:
        size = int(sys.stdin.buffer.read(4), 16)
        if size < 4:
            return
        yield sys.stdin.buffer.read(size - 4)


def send(*texts):
    for text in texts:
        data = text.encode(errors="surrogateescape") + b"\n"
        sys.stdout.buffer.write(b"%04x" % (len(data) + 4) + data)
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()


def git(*args):
    done = subprocess.run(["git", *args], check=True, capture_output=True)
    return done.stdout.decode(errors="surrogateescape")


def workflow_changed(new):
    """The first workflow file that a commit new to this repository adds or changes; carrying one along is fine."""
    for commit in git("rev-list", "--reverse", new, "--not", "--all").split():
        args = ("diff-tree", "-r", "-z", "-m", "--root", "--no-commit-id", "--diff-filter=AMT", commit)
        fields = git(*args, "--", ".github/workflows").split("\0")
        for meta, path in zip(fields[::2], fields[1::2], strict=False):
            if meta.split()[3] not in known(path):
                return path
    return None


def known(path):
    return git("log", "--all", "--format=", "--raw", "--no-abbrev", "--", path)


def reason(old, new, ref, refusals):
    for pattern, text in refusals.items():
        if fnmatch.fnmatchcase(ref, pattern):
            return text
    if os.environ.get("SIMULATOR_REFUSES_WORKFLOWS") and set(new) != {"0"}:
        path = workflow_changed(new)
        return path and WORKFLOW.format(path)
    return None


def main():
    version = b"".join(packets())
    send("version=1\0atomic push-options" if b"push-options" in version else "version=1\0atomic")
    commands = [line.decode(errors="surrogateescape").rstrip("\n").split(" ", 2) for line in packets()]
    if b"push-options" in version:
        list(packets())
    with open("refusals.json") as file:
        refusals = json.load(file)
    answers = []
    for old, new, ref in commands:
        why = reason(old, new, ref, refusals)
        answers += [f"ng {ref} {why}"] if why else [f"ok {ref}", "option fall-through"]
    send(*answers)


main()

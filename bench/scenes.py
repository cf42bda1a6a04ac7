"""The run that is measured: two turns of a small task, the same script for the product and for bare sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulators.github import Event, GitHub, Repository
from simulators.model import ModelServer, Reply, Script, Session, Use, structured
from simulators.runner import PERMISSIONS, Runner

FILES = {
    "README.md": "# calc\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "import unittest\n\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
}
BODY = "Please.\n\n## Acceptance criteria\n- [ ] `sub(a, b)` subtracts\n- [ ] `div(a, b)` divides\n"
CHECK = "python3 -m unittest"


def report() -> Use:
    return structured({"summary": "Done.", "criteria": [], "tests_run": [], "concerns": [], "disputed": []})


def verdict(decision: str, second: str, **more: Any) -> Use:
    met = {"status": "met", "evidence": [{"kind": "run", "ref": "R1", "note": ""}]}
    last = met if second == "met" else {"status": second, "evidence": []}
    criteria = [{"id": "AC-1", **met}, {"id": "AC-2", **last}]
    empty: dict[str, Any] = {"issues": [], "previous": [], "test_changes": []}
    return structured({"decision": decision, "summary": f"{decision}.", "criteria": criteria, **empty, **more})


def player(old: str, new: str) -> list[Reply]:
    edit = Use("Edit", {"file_path": "calc.py", "old_string": old, "new_string": new})
    return [Use("Read", {"file_path": "calc.py"}), edit, Use("Bash", {"command": CHECK}), report()]


def two_turns() -> Script:
    """Feedback, then approval: four sessions of four and three requests."""
    issue = {"severity": "must_fix", "category": "missing_requirement", "criterion": "AC-2", "description": "No div."}
    run = Use("mcp__autobuild__run", {"command": CHECK})
    read = Use("Read", {"file_path": "calc.py"})
    return Script(
        roles={
            "player": [
                Session(
                    replies=player("    return a + b\n", "    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")
                ),
                Session(
                    replies=player("    return a - b\n", "    return a - b\n\n\ndef div(a, b):\n    return a / b\n")
                ),
            ],
            "coach": [
                Session(replies=[read, run, verdict("feedback", "not_met", issues=[issue])]),
                Session(
                    replies=[
                        read,
                        run,
                        verdict("approve", "met", previous=[{"issue": "I1.1.1", "status": "resolved", "note": ""}]),
                    ]
                ),
            ],
        }
    )


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything one measured run needs."""

    hub: GitHub
    repo: Repository
    model: ModelServer
    runner: Runner
    event: Event


@contextmanager
def scene(folder: Path, *, check: str = CHECK, isolation: str = "none") -> Iterator[Scene]:
    """A repository with a labelled issue, and a model that plays the two turns."""
    with GitHub(folder / "hub") as hub, ModelServer(two_turns()) as model:
        repo = hub.repository("octo/calc", files=FILES, roles={"alice": "write"})
        token = hub.token("github-actions[bot]", repo, permissions=PERMISSIONS)
        issue = repo.open_issue(author="alice", title="Add sub and div", body=BODY)
        runner = Runner(
            hub=hub,
            repo=repo,
            token=token,
            model_url=model.url,
            folder=folder / "runner",
            inputs={"isolation": isolation, "check-command": check},
        )
        yield Scene(
            hub=hub, repo=repo, model=model, runner=runner, event=repo.label_event(issue, "autobuild", sender="alice")
        )

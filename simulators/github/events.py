"""The events that start a run: GitHub's official examples with our values set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulators.github import render
from simulators.github.descriptions import DATA, complete, event

if TYPE_CHECKING:
    from simulators.github.repository import Repository
    from simulators.github.state import Comment, Issue, Label, User

Json = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """`name` is what the runner puts into GITHUB_EVENT_NAME, `payload` the file at GITHUB_EVENT_PATH."""

    name: str
    payload: Json

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(self.payload))
        return path


@cache
def examples(name: str) -> list[Json]:
    """The official examples of `issues` (labeled), `issue_comment` (created), `workflow_dispatch`."""
    found: list[Json] = json.loads((DATA / "events.json").read_text())[name]
    return found


def labeled(repo: Repository, issue: Issue, label: Label, sender: User) -> Event:
    values = {"issue": render.issue(repo, issue), "label": render.label(repo, label)}
    return _event("issues", "issues-labeled", repo, values, sender)


def commented(repo: Repository, issue: Issue, comment: Comment) -> Event:
    values = {"issue": render.issue(repo, issue), "comment": render.comment(repo, comment)}
    return _event("issue_comment", "issue-comment-created", repo, values, comment.user)


def dispatched(repo: Repository, inputs: Mapping[str, Any], sender: User) -> Event:
    workflow = ".github/workflows/autobuild.yml"
    values: Json = {"inputs": dict(inputs), "ref": f"refs/heads/{repo.default_branch}", "workflow": workflow}
    return _event("workflow_dispatch", "workflow-dispatch", repo, values, sender)


def _event(name: str, described: str, repo: Repository, values: Json, sender: User) -> Event:
    """The first official example, our values over it; a payload GitHub would not send is a violation."""
    payload = deepcopy(examples(name)[0])
    for gone in ("organization", "installation", "changes"):
        payload.pop(gone, None)
    ours = {**values, "repository": render.repository(repo), "sender": render.user(repo.hub, sender)}
    for key, value in ours.items():
        payload[key] = _over(payload.get(key), value, repo) if key != "inputs" else value
    shape = event(described)
    payload = complete(shape.schema, payload, repo.hub.origin)
    fault = shape.fault(payload)
    if fault:
        repo.hub.violations.append(f"event {described}: {fault}")
    return Event(name, payload)


def _over(example: Any, ours: Any, repo: Repository) -> Any:
    """Ours where we have something; the example's own addresses moved to this origin and repository."""
    if isinstance(example, dict) and isinstance(ours, dict):
        return {
            key: _over(example.get(key), ours[key], repo) if key in ours else _moved(example[key], repo)
            for key in {**example, **ours}
        }
    return ours


def _moved(example: Any, repo: Repository) -> Any:
    """No name of the example's repository is left over."""
    if isinstance(example, dict):
        return {key: _moved(value, repo) for key, value in example.items()}
    if isinstance(example, str) and example.startswith("https://api.github.com/repos/"):
        rest = example.removeprefix("https://api.github.com/repos/").split("/", 2)[2:]
        return "/".join([f"{repo.hub.api}/repos/{repo.full_name}", *rest])
    return example

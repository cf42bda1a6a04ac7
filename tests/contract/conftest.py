"""A GitHub of one's own for every test that wants one; it must have nothing to complain about at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from autobuild_action.adapters.git import Remote
from simulators.github import GitHub
from simulators.runner import PERMISSIONS
from tests.support.repos import bare

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autobuild_action.adapters.git import Git
    from simulators.github import Repository

BOT = "github-actions[bot]"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[GitHub]:
    with GitHub(tmp_path / "hub") as hub:
        yield hub
    assert hub.violations == []


@pytest.fixture
def repo(hub: GitHub) -> Repository:
    for login in ("alice", "mallory"):
        hub.user(login)
    return hub.repository(
        "octo/calc",
        files={"README.md": "# calc\n", "calc.py": "def add(a, b):\n    return a + b\n"},
        roles={"alice": "write", "trudy": "triage", "max": "maintain"},
    )


@pytest.fixture
def token(hub: GitHub, repo: Repository) -> str:
    return hub.token(BOT, repo, permissions=PERMISSIONS)


@pytest.fixture
def git(tmp_path: Path, repo: Repository, token: str) -> Git:
    """Our repository, with the base branch fetched."""
    git = bare(tmp_path / "git", Remote(url=repo.clone_url, token=token))
    git.fetch("refs/heads/main")
    return git

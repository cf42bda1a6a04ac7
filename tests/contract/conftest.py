"""A GitHub of one's own for every test that wants one; it must have nothing to complain about at the end."""

from __future__ import annotations

import shutil
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
FILES = {"README.md": "# calc\n", "calc.py": "def add(a, b):\n    return a + b\n"}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHub]:
    """One server for all, since starting and stopping it takes longer than most tests."""
    with GitHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def hub(server: GitHub) -> Iterator[GitHub]:
    """As new: without repositories, tokens, requests and faults."""
    server.repositories.clear()
    server.tokens.clear()
    server.journal.clear()
    shutil.rmtree(server.folder, ignore_errors=True)
    yield server
    server.fault = None
    violations = server.violations.copy()
    server.violations.clear()
    assert violations == []


@pytest.fixture(scope="session")
def made_once(server: GitHub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The objects and refs of a repository with one commit."""
    repo = server.repository("octo/template", files=FILES)
    return shutil.copytree(repo.git.folder, tmp_path_factory.mktemp("template") / "git")


@pytest.fixture
def repo(made_once: Path, hub: GitHub) -> Repository:
    for login in ("alice", "mallory"):
        hub.user(login)
    repo = hub.repository("octo/calc", roles={"alice": "write", "trudy": "triage", "max": "maintain"})
    for name in ("objects", "refs"):
        shutil.copytree(made_once / name, repo.git.folder / name, dirs_exist_ok=True)
    return repo


@pytest.fixture
def token(hub: GitHub, repo: Repository) -> str:
    return hub.token(BOT, repo, permissions=PERMISSIONS)


@pytest.fixture
def git(tmp_path: Path, repo: Repository, token: str) -> Git:
    """Our repository, with the base branch fetched."""
    git = bare(tmp_path / "git", Remote(url=repo.clone_url, token=token))
    git.fetch("refs/heads/main")
    return git

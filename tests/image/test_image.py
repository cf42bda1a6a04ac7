"""The built image, from the event's file to the pull request, with a real Docker engine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.scenes import BODY, FILES, two_turns
from simulators.github import GitHub, Repository
from simulators.model import ModelServer
from simulators.runner import PERMISSIONS, Step
from tests.support.container import IMAGE, RUNNER_UID, ContainerRunner, build, engine_answers

pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers: the image tests are left out"),
]


class Played:
    """One run of the container, and the world after it."""

    def __init__(self, hub: GitHub, repo: Repository, model: ModelServer, step: Step, runner: ContainerRunner) -> None:
        self.hub, self.repo, self.model, self.step, self.runner = hub, repo, model, step, runner


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    build()
    folder = tmp_path_factory.mktemp("image")
    with GitHub(folder / "hub") as hub, ModelServer(two_turns()) as model:
        repo = hub.repository("octo/calc", files=FILES, roles={"alice": "write"})
        token = hub.token("github-actions[bot]", repo, permissions=PERMISSIONS)
        issue = repo.open_issue(author="alice", title="Add sub and div", body=BODY)
        runner = ContainerRunner(hub=hub, repo=repo, token=token, model_url=model.url, folder=folder / "runner")
        event = repo.label_event(issue, "autobuild", sender="alice")
        step = runner.run_container(event)
        yield Played(hub, repo, model, step, runner)


def test_the_container_goes_from_the_event_to_an_approved_pull_request(played: Played) -> None:
    assert played.step.exit_code == 0, played.step.log
    assert played.step.outputs["result"] == "approved"
    [pull] = played.repo.pulls
    assert not pull.draft
    assert [review.body.startswith("### ") for review in played.repo.reviews(pull.number)] == [True, True]
    assert played.repo.labels_of(1) == ["autobuild", "autobuild:approved"]
    assert played.hub.violations == []
    played.model.check()


def test_it_runs_at_level_uid_and_says_so(played: Played) -> None:
    assert "isolation level `uid`: self-test passed" in played.step.log
    [pull] = played.repo.pulls
    assert "Isolation `uid`" in pull.body


def test_the_runner_finds_the_trace_where_the_output_says(played: Played) -> None:
    trace = Path(played.step.outputs["trace-path"])
    assert trace == played.step.trace
    journal = json.loads((trace / "journal.json").read_text())
    assert [fact["kind"] for fact in journal["facts"]].count("committed") == 2
    assert all(path.stat().st_mode & 0o004 for path in trace.iterdir())


def test_the_workspace_is_left_as_it_was(played: Played) -> None:
    [workspace] = played.runner.folder.glob("job-1/work/calc/calc")
    assert [path.name for path in workspace.iterdir()] == ["left-alone.txt"]
    assert (workspace / "left-alone.txt").stat().st_uid == RUNNER_UID


def test_no_secret_is_in_the_log_or_the_files(played: Played) -> None:
    written = b"".join(path.read_bytes() for path in played.step.trace.iterdir())
    for secret in (played.runner.token, played.runner.key):
        assert secret not in played.step.log
        assert secret.encode() not in written


@pytest.mark.usefixtures("played")
def test_nothing_of_the_repository_can_shadow_the_entry_point(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')\n")
    command = ["docker", "run", "--rm", "-v", f"{tmp_path}:/github/workspace", "--workdir", "/github/workspace", IMAGE]
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=dict(os.environ))
    assert "GITHUB_EVENT_NAME" in done.stdout
    assert "shadowed" not in done.stdout + done.stderr

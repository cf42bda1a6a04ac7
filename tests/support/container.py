"""The action's image, run as GitHub's runner does it (actions/runner 2.336.0), plus ``--network host``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulators.github import Event
from simulators.runner import REPO_ROOT, Runner, Step, read_outputs

IMAGE = "autobuild-action:test"
RUNNER_UID = 1001


def engine_answers() -> bool:
    """True where a Docker engine can be used."""
    try:
        return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def build() -> None:
    """Build the image as the runner does; an engine without a bridge downloads by the host's network."""
    command = ["docker", "build", "--network=host", "-t", IMAGE, "-f", str(REPO_ROOT / "Dockerfile"), str(REPO_ROOT)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        raise RuntimeError(f"the image could not be built:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


@dataclass(kw_only=True)
class ContainerRunner(Runner):
    """A runner whose jobs are containers of the image; the folders below ``_temp`` are the runner's own."""

    socket: Path = field(default_factory=lambda: Path(os.environ.get("DOCKER_HOST", "").removeprefix("unix://")))

    def run_container(self, event: Event, *, inputs: Mapping[str, str] | None = None) -> Step:
        """Deliver an event to a fresh container; answers how the step ended."""
        self.jobs += 1
        job = self.folder / f"job-{self.jobs}"
        plain = self.environment(event, job, inputs or {})
        temp, workspace = job / "work" / "_temp", job / "work" / "calc" / "calc"
        mounts = {
            self.socket: "/var/run/docker.sock",
            temp: "/github/runner_temp",
            temp / "_github_home": "/github/home",
            temp / "_github_workflow": "/github/workflow",
            temp / "_runner_file_commands": "/github/file_commands",
            workspace: "/github/workspace",
        }
        for folder in list(mounts)[1:]:
            folder.mkdir(parents=True)
        (temp / "_github_workflow" / "event.json").write_text((job / "event.json").read_text())
        (workspace / "left-alone.txt").write_text("the workspace is the user's")
        for name in ("output", "summary"):
            (temp / "_runner_file_commands" / name).touch()
        for path in (job, *job.rglob("*")):
            os.chown(path, RUNNER_UID, RUNNER_UID)
        environment = plain | {
            "HOME": "/github/home",
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_OUTPUT": "/github/file_commands/output",
            "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
            "GITHUB_WORKSPACE": "/github/workspace",
            "RUNNER_TEMP": "/github/runner_temp",
            "RUNNER_WORKSPACE": str(workspace.parent),
        }
        del environment["PATH"]
        variables = [part for name in environment for part in ("-e", name)]
        volumes = [part for host, inside in mounts.items() for part in ("-v", f"{host}:{inside}")]
        command = [
            *("docker", "run", "--name", f"autobuild-test-{os.getpid()}-{self.jobs}", "--label", "autobuild-test"),
            *("--workdir", "/github/workspace", "--rm", "--network", "host"),
            *variables,
            *volumes,
            IMAGE,
        ]
        client = {name: os.environ[name] for name in ("PATH", "DOCKER_HOST") if name in os.environ} | {
            name: value for name, value in environment.items() if name != "HOME"
        }
        client["HOME"] = "/github/home"  # the client's own HOME, and the value that `-e HOME` passes on
        done = subprocess.run(
            command,
            env=client,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        commands = temp / "_runner_file_commands"
        return Step(
            exit_code=done.returncode,
            log=done.stdout.decode(errors="replace"),
            outputs=read_outputs((commands / "output").read_text(encoding="utf-8")),
            summary=(commands / "summary").read_text(encoding="utf-8"),
            trace=temp / "autobuild" / "trace",
        )

"""What GitHub's runner does around the action, without GitHub: the event's file, the environment, the answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulators.github import Event, GitHub, Repository

REPO_ROOT = Path(__file__).resolve().parents[1]
ENTRY = (sys.executable, "-Iu", "-m", "autobuild_action", "action")
PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
    "actions": "read",
    "metadata": "read",
}
"""What the workflow to copy asks for."""

BLOCK = re.compile(r"^(?P<name>[^\n<=]+)<<(?P<end>[^\n]+)\n(?P<value>.*?)\n(?P=end)$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a step of the action ended."""

    exit_code: int
    log: str
    outputs: Mapping[str, str]
    summary: str
    trace: Path


@dataclass(kw_only=True)
class Runner:
    """A runner for the jobs of one repository; every job gets a folder of its own."""

    hub: GitHub
    repo: Repository
    token: str
    model_url: str
    folder: Path
    key: str = "sk-ant-simulated-key-0001"
    inputs: Mapping[str, str] = field(default_factory=dict)
    extra_environment: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 0
    process: subprocess.Popen[bytes] | None = None
    """The job that is running, or ran last."""

    def environment(self, event: Event, job: Path, inputs: Mapping[str, str]) -> dict[str, str]:
        """The environment and the files of one job, as the runner makes them for a container action."""
        for name in ("temp", "home", "commands"):
            (job / name).mkdir(parents=True)
        (job / "event.json").write_text(json.dumps(event.payload), encoding="utf-8")
        for name in ("output", "summary"):
            (job / "commands" / name).touch()
        given = {"github-token": self.token, "anthropic-api-key": self.key, **self.inputs, **inputs}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(job / "home"),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event.name,
            "GITHUB_EVENT_PATH": str(job / "event.json"),
            "GITHUB_REPOSITORY": self.repo.full_name,
            "GITHUB_SERVER_URL": self.hub.origin,
            "GITHUB_API_URL": self.hub.api,
            "GITHUB_GRAPHQL_URL": self.hub.graphql,
            "GITHUB_RUN_ID": str(1000 + self.jobs),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_OUTPUT": str(job / "commands" / "output"),
            "GITHUB_STEP_SUMMARY": str(job / "commands" / "summary"),
            "RUNNER_TEMP": str(job / "temp"),
            "ANTHROPIC_BASE_URL": self.model_url,
            "AUTOBUILD_WRITE_SPACING": "0",
            "ACTIONS_RUNTIME_TOKEN": "runtime-token-that-nobody-needs",
            **{f"INPUT_{name.upper()}": value for name, value in given.items()},
            **self.extra_environment,
        }

    def run(
        self,
        event: Event,
        *,
        inputs: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        entry: tuple[str, ...] = ENTRY,
    ) -> Step:
        """Deliver an event and wait for the job's end; ``on_line`` sees the log as it is written."""
        self.jobs += 1
        job = self.folder / f"job-{self.jobs}"
        environment = self.environment(event, job, inputs or {})
        self.process = process = subprocess.Popen(
            entry,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=job,
        )
        lines = []
        with process:
            for raw in process.stdout or ():
                line = raw.decode(errors="replace").rstrip("\n")
                lines.append(line)
                if on_line:
                    on_line(line)
        return Step(
            exit_code=process.returncode,
            log="\n".join(lines),
            outputs=read_outputs((job / "commands" / "output").read_text(encoding="utf-8")),
            summary=(job / "commands" / "summary").read_text(encoding="utf-8"),
            trace=job / "temp" / "autobuild" / "trace",
        )


def read_outputs(text: str) -> dict[str, str]:
    """The outputs in a file of the runner's format, ``NAME<<END … END``."""
    return {found["name"]: found["value"] for found in BLOCK.finditer(text)}

"""The runner of GitHub Actions: what it tells us in the environment, and the files in which it takes our answers."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autobuild_action.adapters.github import Server
from autobuild_action.errors import ConfigurationError
from autobuild_action.model import RunId

if TYPE_CHECKING:
    from collections.abc import Mapping

NEEDED = ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY")
PUBLIC = "https://github.com"
MOUNTED_TEMP = "/github/runner_temp"
RUNNERS_OWN = Path("/github")
LARGEST_SUMMARY = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Runner:
    """What the runner says about this run."""

    event_name: str
    event_path: Path
    repository: str
    server: Server
    run: RunId
    folder: Path
    trace_on_host: Path
    output: Path | None
    summary: Path | None
    in_actions: bool

    @property
    def event(self) -> dict[str, Any]:
        """The event's payload."""
        try:
            payload = json.loads(self.event_path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            raise ConfigurationError(f"The event's file {self.event_path} can't be read: {exc}.") from exc
        return payload if isinstance(payload, dict) else {}

    @property
    def closed(self) -> bool:
        """True in the container, where root can hide the runner's folders."""
        return self.folder.is_relative_to(RUNNERS_OWN) and os.geteuid() == 0

    def close(self) -> None:
        """Hide the runner's own folders from every other uid; the container's folder, so it ends with it.

        They hold the event, the job's files and, where a step did a checkout, the credentials it left.
        """
        if self.closed:
            RUNNERS_OWN.chmod(0o700)

    def set_outputs(self, outputs: Mapping[str, object]) -> None:
        """Hand the outputs over; the delimiter is random, so that no value can end its block."""
        if not self.output:
            return
        with self.output.open("a", encoding="utf-8") as file:
            for name, value in outputs.items():
                end = f"end-{secrets.token_hex(16)}"
                file.write(f"{name}<<{end}\n{value}\n{end}\n")

    def set_summary(self, markdown: str) -> None:
        """Write the run's own page; one over 1 MiB would be dropped whole."""
        if self.summary and len(markdown.encode()) <= LARGEST_SUMMARY:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(markdown + "\n")


def read_runner(environ: Mapping[str, str]) -> Runner:
    """The runner as the environment describes it; every path is taken from there, none is assumed."""
    missing = [name for name in NEEDED if not environ.get(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ConfigurationError(
            f"This is not a job of GitHub Actions: {', '.join(missing)} {verb} not set.",
            "`autobuild action` is what the action's container runs; see the README for the workflow.",
        )
    server = environ.get("GITHUB_SERVER_URL") or PUBLIC
    api = environ.get("GITHUB_API_URL") or "https://api.github.com"
    repository, run = environ["GITHUB_REPOSITORY"], environ.get("GITHUB_RUN_ID", "0")
    folder = _folder(environ)
    return Runner(
        event_name=environ["GITHUB_EVENT_NAME"],
        event_path=Path(environ["GITHUB_EVENT_PATH"]),
        repository=repository,
        server=Server(url=server, api=api, graphql=environ.get("GITHUB_GRAPHQL_URL") or f"{api}/graphql"),
        run=RunId(
            id=run,
            attempt=int(environ.get("GITHUB_RUN_ATTEMPT") or 1),
            url=f"{server}/{repository}/actions/runs/{run}",
        ),
        folder=folder,
        trace_on_host=_on_host(folder, environ) / "trace",
        output=_path(environ, "GITHUB_OUTPUT"),
        summary=_path(environ, "GITHUB_STEP_SUMMARY"),
        in_actions=environ.get("GITHUB_ACTIONS") == "true",
    )


def _folder(environ: Mapping[str, str]) -> Path:
    """Our own folder: below the runner's temporary folder if that is there, else below HOME."""
    temp = environ.get("RUNNER_TEMP", "")
    if temp and Path(temp).is_dir():
        return Path(temp) / "autobuild"
    return Path(environ.get("HOME") or "/tmp") / "autobuild"  # noqa: S108  where there is no HOME at all


def _on_host(folder: Path, environ: Mapping[str, str]) -> Path:
    """The same folder as later steps of the job see it: the runner mounts its ``_temp`` into the container."""
    workspace = environ.get("RUNNER_WORKSPACE", "")
    if workspace and str(folder).startswith(f"{MOUNTED_TEMP}/"):
        return Path(workspace).parent / "_temp" / folder.relative_to(MOUNTED_TEMP)
    return folder


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None

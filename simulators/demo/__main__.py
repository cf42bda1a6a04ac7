"""`python -m simulators.demo`: the main job on this machine alone; `--model real` takes the real model."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.table import Table

from simulators.demo import story
from simulators.demo.screen import Screen
from simulators.demo.tour import PERSON, Tour
from simulators.github import GitHub
from simulators.github.state import ACTIONS
from simulators.model import ModelServer
from simulators.runner import PERMISSIONS, Runner

WRONG, NO_KEY, INTERRUPTED = 1, 3, 130
BUDGET_USD = 2
SERVICE = "https://api.anthropic.com"
PASSED_ON = (
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
"""The way to the real service, where the machine needs one."""
ISOLATION = {
    "uid": "uid: every session and every check runs as a user of its own, without any rights of yours",
    "none": "none, asked for by name, as this is not root: sessions and checks run with all your rights",
}


@dataclass(frozen=True, kw_only=True)
class Service:
    """Where the model answers, and what the action is given to reach it."""

    url: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulators.demo", description=__doc__)
    parser.add_argument(
        "--model", choices=("simulated", "real"), default="simulated", help="real: takes your key, costs money"
    )
    parser.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep the folder with all that was made (default), or remove it",
    )
    options = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    real = real_service(os.environ) if options.model == "real" else None
    if options.model == "real" and not real:
        print("MODEL=real needs a key: set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN. The plain demo needs none.")
        return NO_KEY
    screen = Screen()
    folder = Path(tempfile.mkdtemp(prefix="autobuild-demo-"))
    try:
        return show(screen, folder, real, keep=options.keep)
    except KeyboardInterrupt:
        left = f" What there is so far is in {folder}." if options.keep else ""
        screen.say(f"\nInterrupted: nothing runs any more.{left}")
        return INTERRUPTED
    finally:
        if not options.keep:
            shutil.rmtree(folder)


def real_service(environ: Mapping[str, str]) -> Service | None:
    """The real model with the caller's key, the API key first as in Claude Code; None without one."""
    names = {"anthropic-api-key": "ANTHROPIC_API_KEY", "claude-code-oauth-token": "CLAUDE_CODE_OAUTH_TOKEN"}
    keys = {name: environ.get(variable, "").strip() for name, variable in names.items()}
    if not any(keys.values()):
        return None
    local = ",".join(filter(None, (environ.get("NO_PROXY") or environ.get("no_proxy"), "127.0.0.1")))
    return Service(
        url=environ.get("ANTHROPIC_BASE_URL") or SERVICE,
        inputs={**keys, "max-budget-usd": str(BUDGET_USD)},
        environment={name: environ[name] for name in PASSED_ON if name in environ}
        | {"NO_PROXY": local, "no_proxy": local},
    )


def show(screen: Screen, folder: Path, real: Service | None, *, keep: bool) -> int:
    isolation = "uid" if os.geteuid() == 0 and shutil.which("setpriv") else "none"
    screen.chapter("autobuild-action: a demo")
    screen.say(heading(folder, real, isolation))
    with ExitStack() as stack:
        hub = stack.enter_context(GitHub(folder / "github"))
        model = None if real else stack.enter_context(ModelServer(story.script()))
        service = real or Service(url=model.url if model else SERVICE)
        repo = hub.repository("octo/signin", files=story.FILES, roles={PERSON: "write"})
        runner = Runner(
            hub=hub,
            repo=repo,
            token=hub.token(ACTIONS, repo, permissions=PERMISSIONS),
            model_url=service.url,
            folder=folder / "runner",
            inputs={"isolation": isolation, "verbose": "true", **service.inputs},
            extra_environment=service.environment,
        )
        tour = Tour(screen=screen, folder=folder, hub=hub, repo=repo, runner=runner, model=model)
        tour.approved_in_two_turns()
        if model:
            tour.blocked_then_approved()
        violations = [*hub.violations, *(model.violations + model.unplayed if model else ())]
    if keep:
        screen.chapter("Where to look further")
        screen.say(places(tour))
    screen.chapter("What happened")
    screen.say(summary(tour))
    screen.say(f"violations: {len(violations)}")
    for line in (*violations, *tour.wrong):
        screen.say(f"  {line}", "red")
    return WRONG if violations or tour.wrong else 0


# --- what is said before and after ------------------------------------------------------------------


def heading(folder: Path, real: Service | None, isolation: str) -> Table:
    """What is simulated and what is real, before anything happens."""
    answers = "" if real else ", and the model's answers: a script, and with it all costs shown"
    sdk = f"Claude Agent SDK {importlib.metadata.version('claude-agent-sdk')} with its Claude Code CLI"
    actual = "git, HTTP, the sandbox, the checks, the commands that the Coach runs"
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()
    grid.add_row("Simulated", f"GitHub, on 127.0.0.1{answers}")
    grid.add_row("Real", f"{'the model, ' if real else ''}{sdk}, {actual}")
    grid.add_row("Isolation", ISOLATION[isolation])
    if real:
        grid.add_row("Costs", f"at most {BUDGET_USD} USD, paid by your key at {real.url}; Ctrl-C ends the run")
        grid.add_row("To come", "one issue, one run, some minutes; how the real model fares cannot be known before")
    else:
        grid.add_row("To come", "two issues, three runs, about half a minute; nothing leaves this machine")
    grid.add_row("Folder", str(folder))
    return grid


def places(tour: Tour) -> str:
    folder, repository, trace = (
        shlex.quote(str(path))
        for path in (
            tour.folder,
            tour.repo.git.folder.relative_to(tour.folder),
            tour.played[0].step.trace.relative_to(tour.folder),
        )
    )
    return f"""\
First          cd {folder}
The commits    git -C {repository} log --stat --patch main..autobuild/issue-1
The journal    git -C {repository} show refs/autobuild/issue-1/journal:journal.json
The texts      ls pages
The sessions   less {trace}/trace.jsonl
Remove it all  rm -r {folder}"""


def summary(tour: Tour) -> Table:
    table = Table(box=box.SIMPLE, show_footer=True, pad_edge=False)
    runs = tour.played
    columns = {
        "": [run.what for run in runs],
        "result": [run.result for run in runs],
        "turns": [run.step.outputs.get("turns", "") for run in runs],
        "seconds": [f"{run.seconds:.1f}" for run in runs],
        "sessions": [str(run.sessions) for run in runs],
        "requests\nto GitHub": [str(run.github) for run in runs],
        "requests\nto the model": [str(run.model) if tour.model else "–" for run in runs],
    }
    totals = [
        "together",
        "",
        "",
        f"{sum(run.seconds for run in runs):.1f}",
        *(str(sum(getattr(run, name) for run in runs)) for name in ("sessions", "github")),
        str(sum(run.model for run in runs)) if tour.model else "–",
    ]
    for (title, _), total in zip(columns.items(), totals, strict=True):
        table.add_column(title, footer=total, justify="left" if title in {"", "result"} else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


if __name__ == "__main__":
    sys.exit(main())

"""Print every figure of docs/benchmarks.md, medians of five, in one run: ``make bench``."""

from __future__ import annotations

import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from bench import trees
from bench.scenes import Scene, scene, two_turns
from simulators.model import ModelServer
from simulators.runner import ENTRY, REPO_ROOT

ROUNDS = 5
IMAGE = "autobuild-action:bench"


def main() -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {platform.system()} {platform.release()}, ", end="")
    print(f"Python {platform.python_version()}; medians of {ROUNDS}, simulators without latency, level none\n")
    with tempfile.TemporaryDirectory(prefix="autobuild-bench-") as name:
        folder = Path(name)
        product(folder)
        for files in (500, 50_000):
            row(f"own work in one turn, {files:,} files", f"{trees.a_turn(folder / str(files), files, ROUNDS):.2f} s")
    image()


def row(what: str, value: str) -> None:
    print(f"| {what} | {value} |", flush=True)


def product(folder: Path) -> None:
    """Whole runs, bare sessions and first requests in turn, so that a drift of the machine hits all of them."""
    runs, bare, first, peaks = [], [], [], []
    last: list[tuple[str, str]] = []
    for number in range(ROUNDS):
        with scene(folder / f"run-{number}") as played:
            seconds = timed(played)
            runs.append(seconds - checks_in(played))
            peaks.append(peak(played))
            last = requests_of(played)
        bare.append(bare_sessions(folder / f"bare-{number}"))
        with scene(folder / f"first-{number}", check="none") as played:
            first.append(first_request(played))
    ratio = statistics.median(run / alone for run, alone in zip(runs, bare, strict=True))
    row("two-turn run, without the checks' own time", f"{statistics.median(runs):.2f} s")
    row("the same four sessions bare", f"{statistics.median(bare):.2f} s")
    row("ratio, pair by pair", f"{ratio:.2f}")
    row("process start to first model request, without check", f"{statistics.median(first):.2f} s")
    row("peak memory of the orchestrator", f"{statistics.median(peaks):.0f} MB")
    for what, value in last:
        row(what, value)


def timed(played: Scene) -> float:
    started = time.monotonic()
    step = played.runner.run(played.event)
    if step.outputs.get("result") != "approved":
        raise SystemExit(f"the measured run was not approved:\n{step.log}")
    return time.monotonic() - started


def checks_in(played: Scene) -> float:
    """Seconds that the checks themselves took, the baseline among them."""
    journal = json.loads(next(played.runner.folder.glob("*/temp/autobuild/trace/journal.json")).read_text())
    return sum(float(check["seconds"]) for fact in journal["facts"] for check in fact.get("checks", ()))


def peak(played: Scene) -> float:
    """The largest resident size of the orchestrator's process, from its own accounting, in MB."""
    trace = next(played.runner.folder.glob("*/temp/autobuild/trace/trace.jsonl")).read_text().splitlines()
    events = [json.loads(line) for line in trace]
    return float(next(event["peak_rss_mb"] for event in reversed(events) if event["kind"] == "end"))


def requests_of(played: Scene) -> list[tuple[str, str]]:
    """Requests to GitHub, and what was posted to the model, in the last run."""
    kinds = Counter("git" if ".git/" in request.path else "API" for request in played.hub.journal)
    sizes = [len(json.dumps(request.body)) for request in played.model.requests]
    turns = [sum(sizes[:7]), sum(sizes[7:])]
    return [
        ("requests to GitHub's API in a two-turn run (git's requests)", f"{kinds['API']} ({kinds['git']})"),
        ("bytes posted to the model per turn", " / ".join(f"{size / 1000:.0f} kB" for size in turns)),
        ("largest request to the model", f"{max(sizes) / 1000:.0f} kB"),
    ]


def bare_sessions(folder: Path) -> float:
    with ModelServer(two_turns()) as model:
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "bench.bare", model.url, str(folder)], check=True, cwd=REPO_ROOT)
        return time.monotonic() - started


def first_request(played: Scene) -> float:
    """Seconds from the start of the process until the model hears of it."""
    played.runner.jobs += 1
    job = played.runner.folder / "job-first"
    environment = played.runner.environment(played.event, job, {})
    started = time.monotonic()
    with subprocess.Popen(ENTRY, env=environment, stdout=subprocess.DEVNULL, cwd=job) as process:
        while not played.model.requests and process.poll() is None:
            time.sleep(0.002)
        seconds = time.monotonic() - started
        process.terminate()
    return seconds


def image() -> None:
    """Size and build time of the image, where a Docker engine answers."""
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "version"], capture_output=True, check=False).returncode:
        row("image", "left out: no Docker engine answers")
        return
    build = [docker, "build", "--quiet", "--network=host", "-t", IMAGE, "."]
    for what, extra in (("image build, cold", ["--no-cache"]), ("image build, nothing changed", [])):
        started = time.monotonic()
        subprocess.run([*build, *extra], cwd=REPO_ROOT, check=True, capture_output=True)
        row(what, f"{time.monotonic() - started:.1f} s")
    size = subprocess.run(
        [docker, "image", "inspect", "--format", "{{.Size}}", IMAGE], capture_output=True, check=True, text=True
    )
    row("image size", f"{int(size.stdout) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

"""A job that Ctrl-C ends well: the step is told once, says on GitHub that it was cancelled, and is waited for."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from pathlib import Path

from simulators.github import Event
from simulators.runner import ENTRY, Runner, Step

PID_FILE = "pid"
LAST_WORDS_SECONDS = 20
ALONE = f"""
import os, pathlib, sys
os.setpgid(0, 0)
pathlib.Path({PID_FILE!r}).write_text(str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Begin in a process group of its own, which the keyboard's interrupt doesn't reach, and leave its number."""


def run(runner: Runner, event: Event, on_line: Callable[[str], None]) -> Step:
    """Deliver an event and wait; an interrupt is handed on to the step, and raised when that has ended."""
    pid_file = runner.folder / f"job-{runner.jobs + 1}" / PID_FILE
    with futures.ThreadPoolExecutor(1) as pool:
        entry = (sys.executable, "-Ic", ALONE, *ENTRY)
        step = pool.submit(runner.run, event, on_line=on_line, entry=entry)
        try:
            return step.result()
        finally:
            if not step.done():
                _end(step, pid_file)


def _end(step: futures.Future[Step], pid_file: Path) -> None:
    """Ask the step to end; what hasn't after a while, or at the second interrupt, is killed with its group."""
    while not (step.done() or (pid_file.exists() and pid_file.read_text())):
        time.sleep(0.01)  # its process is just starting
    if step.done():
        return
    pid = int(pid_file.read_text())
    try:
        os.kill(pid, signal.SIGINT)
        step.result(timeout=LAST_WORDS_SECONDS)
    except ProcessLookupError:
        return
    except (futures.TimeoutError, KeyboardInterrupt):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

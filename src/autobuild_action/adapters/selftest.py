"""The self-test: hostile probes as the Player's identity, before any model is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autobuild_action.errors import SetupError
from autobuild_action.model import Level
from autobuild_action.ports import Bounds, Identity, Spec

if TYPE_CHECKING:
    from pathlib import Path

    from autobuild_action.ports import Sandbox

PROBES = r"""
cd /
test "$(id -u)" != 0 || echo "it runs as root"
test "$(id -g)" != 0 || echo "it has root's group"
ls "$1" >/dev/null 2>&1 && echo "our git directory can be listed"
cat "/proc/$2/environ" >/dev/null 2>&1 && echo "the orchestrator's environment can be read"
kill -0 "$2" 2>/dev/null && echo "the orchestrator can be signalled"
test -w /var/run/docker.sock && echo "the Docker engine's socket can be written"
test -r "$3" && echo "the runner's event file can be read"
cat /etc/shadow >/dev/null 2>&1 && echo "/etc/shadow can be read"
env | grep -Eq '^(GITHUB_TOKEN|INPUT_|ACTIONS_|ANTHROPIC_|CLAUDE_CODE_OAUTH)' && echo "a secret's variable is set"
grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status || echo "new privileges can be had"
grep -q '^CapBnd:[[:space:]]*0*$' /proc/self/status || echo "capabilities are left"
touch /etc/autobuild-probe 2>/dev/null && rm -f /etc/autobuild-probe && echo "files outside of its own can be written"
echo over
"""


def self_test(sandbox: Sandbox, git_folder: Path, work: Path, hidden: Path | None = None) -> None:
    """Run the probes, ``hidden`` being one more file that must be out of reach.

    Raises ``SetupError`` naming each probe that got through. Level ``none`` promises nothing.
    """
    if sandbox.level is Level.NONE:
        return
    session = "self-test"
    work.mkdir(parents=True, exist_ok=True)
    sandbox.own(session, work, writable=True)
    spec = Spec(
        session=session,
        identity=Identity.PLAYER,
        argv=("sh", "-c", PROBES, "sh", str(git_folder), str(os.getpid()), str(hidden or git_folder)),
        work=work,
        limits=Bounds(seconds=10),
    )
    try:
        ended = sandbox.run(spec)
    finally:
        sandbox.end(session)
    breaches = [line for line in ended.output.splitlines() if line.strip() and line != "over"]
    if breaches or "over" not in ended.output:
        listed = "; ".join(breaches) or "the probes did not run to their end"
        raise SetupError(
            f"The sandbox at level `{sandbox.level}` leaks: {listed}.",
            "Run the action in its own container on a hosted runner, or report this.",
        )

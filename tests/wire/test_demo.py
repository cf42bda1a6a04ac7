"""`make demo` as somebody sees it who has just cloned the repository: one run, its words, its exit status."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "simulators.demo", *arguments],
        cwd=ROOT,
        env={**kept, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": "src", "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def in_this_order(text: str, *parts: str) -> None:
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is missing, or comes too early:\n{text}"
        at = found + len(part)


def test_the_demo_shows_an_approval_and_a_block_that_a_retry_lifts(tmp_path: Path) -> None:
    done = start(tmp_path)
    assert done.returncode == 0, done.stdout
    in_this_order(
        done.stdout,
        "Simulated  GitHub",
        "Real       Claude Agent SDK",
        "Isolation  uid" if os.geteuid() == 0 else "Isolation  none, asked for by name",
        "alice opens issue #1",
        "  Turn 1\n",
        "player · Write tokens.py",
        "check `tests` passed",
        "coach ·",
        "  Turn 2\n",
        "result: approved",
        "── Pull request #2",
        "open, ready for review",
        "review requested from alice",
        "── Review of ",
        "✘ contradicted",
        "The whole verdict as JSON",
        "**Comment on `tokens.py:27`**",
        "Suggested change:",
        "── Review of ",
        "── Commits",
        "files changed",
        "**failure**",
        "**success**",
        "`autobuild:approved`",
        "alice opens issue #3",
        "result: blocked",
        "Blocked: the turn limit is reached",
        "`autobuild:blocked`",
        "/autobuild retry ",
        "result: approved",
        "── Pull request #4 is open, ready for review",
    )
    assert '"schema"' not in done.stdout
    assert "<!--" not in done.stdout
    assert re.search(
        r"^ #1 labelled +approved +2 .*\n #3 labelled +blocked +1 .*\n #3 retried +approved +1 ",
        done.stdout,
        re.MULTILINE,
    )
    assert done.stdout.endswith("violations: 0\n")
    where_to_look_is_right(done.stdout)


def where_to_look_is_right(output: str) -> None:
    told = dict(re.findall(r"^(First|The \w+) +(.+)$", output.partition("Where to look further")[2], re.MULTILINE))
    answers = {
        name: subprocess.run(
            ["sh", "-c", f"{told['First']} && {command.replace('less', 'cat')}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name, command in told.items()
    }
    assert "+    def refresh(self, url, token, now):" in answers["The commits"]
    assert '"kind": "decided"' in answers["The journal"]
    assert answers["The texts"].split() == [
        "issue-1.md",
        "issue-3-blocked.md",
        "issue-3.md",
        "pull-request-2.md",
        "pull-request-4.md",
    ]
    assert "player.tool" in answers["The sessions"]


def test_the_real_model_without_a_key_is_one_line_and_nothing_else(tmp_path: Path) -> None:
    done = start(tmp_path, "--model", "real")
    assert done.returncode == 3
    assert re.fullmatch(r"MODEL=real needs a key: .*ANTHROPIC_API_KEY.*\n", done.stdout)
    assert not list(tmp_path.iterdir())

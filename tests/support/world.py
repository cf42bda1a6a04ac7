"""A whole world for a test: GitHub and a model on loopback, a repository with an issue, and a runner for its jobs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from simulators.github import Comment, Event, GitHub, Issue, Pull, Repository
from simulators.model import ModelServer, Reply, Request, Script, Session, Use, structured
from simulators.runner import PERMISSIONS, Runner, Step

BOT = "github-actions[bot]"
BOT_AUTHOR = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
KEY = "sk-ant-simulated-key-0001"
ISOLATION = "uid" if os.geteuid() == 0 else "none"
"""The strongest level that can be had here; the rest of a run is the same at both."""

ADD = "def add(a, b):\n    return a + b\n"
SUB = f"{ADD}\n\ndef sub(a, b):\n    return a - b\n"
BROKEN = ADD.replace("+", "-")
TESTS = """\
import unittest

from calc import add


class Adding(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
"""
CALC: Mapping[str, str] = {
    "README.md": "# calc\n",
    "calc.py": ADD,
    "tests/__init__.py": "",
    "tests/test_calc.py": TESTS,
}
"""A project whose check is found by itself and is green."""
TITLE = "Add sub"
BODY = "Please.\n\n## Acceptance criteria\n\n- [ ] `sub(a, b)` subtracts\n"
CONFIG = ".github/autobuild.yml"

Piece = Mapping[str, Any]


# --- the world --------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class World:
    """One repository with one issue, and everything that happens to it."""

    hub: GitHub
    repo: Repository
    model: ModelServer
    runner: Runner
    issue: Issue
    steps: list[Step] = field(default_factory=list)

    # What people do

    def label(self, name: str = "autobuild", *, sender: str = "alice", inputs: Mapping[str, str] | None = None) -> Step:
        """Somebody labels the issue, and the job runs to its end."""
        self.hub.user(sender)
        return self.run(self.repo.label_event(self.issue, name, sender=sender), inputs)

    def comment(self, body: str, *, author: str = "alice", inputs: Mapping[str, str] | None = None) -> Step:
        """Somebody comments on the issue, and the job runs to its end."""
        self.hub.user(author)
        return self.run(self.repo.comment_event(self.issue, body, author=author), inputs)

    def run(self, event: Event, inputs: Mapping[str, str] | None = None) -> Step:
        """Deliver an event."""
        step = self.runner.run(event, inputs=inputs, on_line=print)  # shown where a test fails
        self.steps.append(step)
        return step

    # What people see

    @property
    def said(self) -> list[str]:
        """The bot's comments on the issue, oldest first."""
        return [comment.body for comment in self.bot_comments]

    @property
    def bot_comments(self) -> list[Comment]:
        return [comment for comment in self.repo.comments(self.issue.number) if comment.user.login == BOT]

    @property
    def pull(self) -> Pull:
        """The pull request, of which there is exactly one."""
        (pull,) = self.repo.pulls
        return pull

    @property
    def reviews(self) -> list[str]:
        return [review.body for review in self.repo.reviews(self.pull.number)]

    @property
    def labels(self) -> list[str]:
        return self.repo.labels_of(self.issue.number)

    @property
    def branch(self) -> str:
        return f"autobuild/issue-{self.issue.number}"

    @property
    def commits(self) -> list[str]:
        """The commits of the branch, oldest first; none where there is no branch."""
        refs = self.repo.git.refs()
        main, head = refs[f"refs/heads/{self.repo.default_branch}"], refs.get(f"refs/heads/{self.branch}")
        return self.repo.git("rev-list", "--reverse", f"{main}..{head}").split() if head else []

    def commit(self, number: int, form: str = "%B") -> str:
        """The ``number``-th commit of the branch, from 0, in one of git's formats; by itself, its message."""
        return self.repo.git("log", "-1", f"--format={form}", self.commits[number])

    def files(self, number: int = -1) -> dict[str, str]:
        return self.repo.files_at(self.commits[number])

    def status(self, number: int = -1) -> tuple[str, str]:
        """State and words of the newest commit status on the ``number``-th commit."""
        newest = self.repo.statuses(self.commits[number])[0]
        return newest.state, newest.description or ""

    @property
    def writes(self) -> list[tuple[str, str]]:
        """Method and path of every request that could have changed something on GitHub."""
        return [
            (request.method, request.path)
            for request in self.hub.journal
            if request.method != "GET" and request.path != "/graphql" and not request.path.endswith("git-upload-pack")
        ]

    @property
    def posted(self) -> dict[str, str]:
        """Every text of the bot's that GitHub shows as Markdown, by a name of it."""
        texts = {f"comment {comment.id}": comment.body for comment in self.bot_comments}
        for pull in self.repo.pulls:
            texts[f"pull request {pull.number}"] = pull.body
            for review in self.repo.reviews(pull.number):
                texts[f"review {review.id}"] = review.body
            for comment in self.repo.review_comments(pull.number):
                texts[f"inline comment {comment.id}"] = comment.body
        return texts | {f"summary {number}": step.summary for number, step in enumerate(self.steps)}

    @property
    def plain(self) -> dict[str, str]:
        """Every text of the bot's that GitHub shows as it is: titles, commit messages, statuses."""
        texts = {f"title {pull.number}": pull.title for pull in self.repo.pulls}
        texts |= {f"commit {number}": self.commit(number) for number in range(len(self.commits))}
        return texts | {f"status {each.id}": each.description or "" for each in self.repo.status_list}

    @property
    def journal(self) -> list[dict[str, Any]]:
        """The facts in the durable record, as they lie on the remote."""
        ref = f"refs/autobuild/issue-{self.issue.number}/journal"
        facts: list[dict[str, Any]] = json.loads(self.repo.files_at(ref)["journal.json"])["facts"]
        return facts

    # What the model saw

    def asked(self, role: str) -> list[Request]:
        """The first request of each session of a role, in order."""
        firsts: dict[int, Request] = {}
        for request in self.model.requests:
            if request.role == role and request.session is not None and request.path.endswith("/messages"):
                firsts.setdefault(request.session, request)
        return [firsts[number] for number in sorted(firsts)]

    def results(self, role: str, session: int) -> list[str]:
        """What the tools answered in a session, in order."""
        asked = [each for each in self.model.requests if (each.role, each.session) == (role, session)]
        return max(asked, key=lambda each: each.step).tool_results

    def check(self) -> None:
        """Raise AssertionError unless GitHub knew every request and exactly the script was played."""
        if self.hub.violations:
            raise AssertionError("\n".join(self.hub.violations))
        self.model.check()


@contextmanager
def world(  # noqa: PLR0913  everything has a usual value
    folder: Path,
    *,
    player: Sequence[Session] = (),
    coach: Sequence[Session] = (),
    files: Mapping[str, str | bytes] = CALC,
    config: str | None = None,
    title: str = TITLE,
    body: str = BODY,
    inputs: Mapping[str, str] | None = None,
    key: str = KEY,
    environment: Mapping[str, str] | None = None,
) -> Iterator[World]:
    """A world in which alice may write, trudy may triage, and everybody else is a stranger."""
    given = {CONFIG: config} if config is not None else {}
    script = Script(roles={"player": player, "coach": coach})
    with GitHub(folder / "hub") as hub, ModelServer(script, api_keys={key}) as model:
        roles: Any = {"alice": "write", "trudy": "triage"}
        repo = hub.repository("octo/calc", files={**files, **given}, roles=roles)
        yield World(
            hub=hub,
            repo=repo,
            model=model,
            runner=Runner(
                hub=hub,
                repo=repo,
                token=hub.token(BOT, repo, permissions=PERMISSIONS),
                model_url=model.url,
                folder=folder / "runner",
                key=key,
                inputs={"isolation": ISOLATION, **(inputs or {})},
                extra_environment=environment or {},
            ),
            issue=repo.open_issue(author="alice", title=title, body=body),
        )


# --- what the agents do -----------------------------------------------------------------------------


def plays(*replies: Reply, expect: Sequence[str] = (), forbid: Sequence[str] = ()) -> Session:
    """A session that gives these replies."""
    return Session(replies=replies, expect=expect, forbid=forbid)


def write(path: str, content: str) -> Use:
    return Use("Write", {"file_path": path, "content": content})


def read(path: str) -> Use:
    """The CLI lets nobody write over a file that was not read."""
    return Use("Read", {"file_path": path})


def bash(command: str) -> Use:
    return Use("Bash", {"command": command})


def run(command: str) -> Use:
    """The Coach's own tool."""
    return Use("mcp__autobuild__run", {"command": command})


def report(**given: Any) -> Use:
    """The Player's structured report; what is not given is plain."""
    plain = {
        "summary": "Added it.",
        "criteria": [{"id": "AC-1", "claim": "done", "note": ""}],
        "tests_run": [],
        "concerns": [],
        "disputed": [],
    }
    return structured({**plain, **given})


def builds(content: str = SUB, *, expect: Sequence[str] = (), **given: Any) -> Session:
    """A Player that writes calc.py and reports."""
    return plays(read("calc.py"), write("calc.py", content), report(**given), expect=expect)


def evidence(kind: str, ref: str) -> Piece:
    return {"kind": kind, "ref": ref, "note": ""}


def met(number: int = 1, *refs: Piece) -> Piece:
    """A criterion that is met, by itself with the first line of calc.py as evidence."""
    return {"id": f"AC-{number}", "status": "met", "evidence": list(refs or (evidence("file", "calc.py:1"),))}


def unmet(number: int = 1) -> Piece:
    return {"id": f"AC-{number}", "status": "not_met", "evidence": []}


def must_fix(description: str, **given: Any) -> Piece:
    """An issue of a verdict."""
    plain = {
        "severity": "must_fix",
        "category": "missing_requirement",
        "criterion": None,
        "path": None,
        "line": None,
        "end_line": None,
        "suggestion": None,
        "replacement": None,
    }
    return {**plain, "description": description, **given}


def resolved(*ids: str) -> list[Piece]:
    return [{"issue": id_, "status": "resolved", "note": ""} for id_ in ids]


def verdict(decision: str, *criteria: Piece, issues: Sequence[Piece] = (), **given: Any) -> Use:
    """The Coach's structured verdict."""
    plain = {
        "decision": decision,
        "summary": "Looked at it.",
        "criteria": list(criteria),
        "issues": list(issues),
        "previous": [],
        "test_changes": [],
    }
    return structured({**plain, **given})


def approves(*before: Reply, **given: Any) -> Session:
    """A Coach that approves, with the first criterion met."""
    return plays(*before, verdict("approve", met(), **given))


def objects(*issues: Piece, **given: Any) -> Session:
    """A Coach that asks for changes, with the first criterion not met."""
    return plays(verdict("feedback", unmet(), issues=issues, **given))


# --- looking at texts -------------------------------------------------------------------------------

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def posted_json(body: str) -> dict[str, Any]:
    """The document in the folded block of a review."""
    (fence,) = [token for token in PARSER.parse(body) if token.type == "fence" and token.info == "json"]
    found: dict[str, Any] = json.loads(fence.content)
    return found


def leaves(markdown: str) -> list[Token]:
    """Everything that a text is made of when it is shown: words, code, links, HTML."""
    tokens = PARSER.parse(markdown)
    return [leaf for token in tokens for leaf in (token.children or [token])]


def words(markdown: str) -> str:
    """What is shown outside code: where GitHub finds mentions, references and closing keywords."""
    return "\n".join(leaf.content for leaf in leaves(markdown) if leaf.type == "text")


MARKER = re.compile(r"<!-- autobuild:1 (?P<journal>\S+) (?P<key>\S+) -->")


def markers(text: str) -> list[str]:
    """The keys of all markers of ours in a text."""
    return [found["key"] for found in MARKER.finditer(text)]


def obeyed(log: str) -> list[str]:
    """The lines that a runner takes for commands, but for our own groups."""
    lines = re.split(r"[\r\n]", log)
    taken = [line for line in lines if line.strip().startswith("::") or "##[" in line]
    ours = re.compile(r"::group::(Preflight|Turn \d+|Finish|Dry run: [a-z ]+)|::endgroup::")
    return [line for line in taken if not ours.fullmatch(line)]

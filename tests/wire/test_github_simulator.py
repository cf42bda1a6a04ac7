"""The GitHub simulator, driven by the real PyGithub and real git: what it does, refuses and reports."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from github import Auth, BadCredentialsException, Github, GithubException, UnknownObjectException
from github.PullRequest import PullRequest
from github.Repository import Repository as Remote

from simulators.github import Fault, GitHub, Repository
from simulators.github.descriptions import event
from simulators.github.events import examples

ALL = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
    "actions": "read",
}
BOT = "github-actions[bot]"
TEXT = "".join(f"line {number}\n" for number in range(1, 41))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[GitHub]:
    """Every test must leave no violation behind; one that wants some clears them."""
    with GitHub(tmp_path / "hub") as hub:
        yield hub
    assert hub.violations == []


@pytest.fixture
def repo(hub: GitHub) -> Repository:
    for login in ("alice", "mallory"):
        hub.user(login)
    files = {"README.md": TEXT, "src/a b/ü.py": "x = 1\n", ".github/workflows/ci.yml": "on: push\n"}
    return hub.repository("octo/calc", files=files, roles={"alice": "write", "trudy": "triage", "max": "maintain"})


@pytest.fixture
def token(hub: GitHub, repo: Repository) -> str:
    return hub.token(BOT, repo, permissions=ALL)


@pytest.fixture
def remote(hub: GitHub, token: str) -> Remote:
    return connect(hub, token)


@pytest.fixture
def pull(repo: Repository, remote: Remote) -> PullRequest:
    """A draft of the bot's: line 20 changed, line 30 gone, a new file."""
    repo.commit("autobuild/issue-1", {"README.md": changed(TEXT), "new.py": "a = 1\nb = 2\n"})
    return remote.create_pull("main", "autobuild/issue-1", title="Work", body="Closes #1", draft=True)


def changed(text: str) -> str:
    return text.replace("line 20\n", "line twenty\n").replace("line 30\n", "")


def connect(hub: GitHub, token: str) -> Remote:
    auth = Auth.Token(token)
    github = Github(auth=auth, base_url=hub.api, retry=None, seconds_between_requests=0, seconds_between_writes=0)
    return github.get_repo("octo/calc")


def graphql(remote: Remote, query: str, **variables: Any) -> Any:
    return remote.requester.graphql_query(query, variables)[1]["data"]


def refused(status: int, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What GitHub answers: its message and its errors, joined."""
    with pytest.raises(GithubException) as caught:
        call(*args, **named)
    assert caught.value.status == status
    data = caught.value.data
    assert isinstance(data, dict)
    errors = [
        error
        if isinstance(error, str)
        else f"{error['resource']} {error['code']} {error.get('field')} {error.get('message')}"
        for error in data.get("errors", ())
    ]
    return " | ".join([data["message"], *errors])


class Clone:
    """A working copy whose token travels as the product sends it: a header from the environment."""

    def __init__(self, folder: Path, url: str, token: str | None, kind: str = "sha1") -> None:
        self.folder, self.url, self.token = folder, url, token
        self.git("init", "-q", "-b", "main", f"--object-format={kind}", str(folder))
        self.git("remote", "add", "origin", url)

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        env = inherited | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        env |= {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        if self.token:
            basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
            server = "/".join(self.url.split("/")[:3])
            env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"http.{server}/.extraheader"}
            env |= {"GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}"}
        where = ["-C", str(self.folder)] if self.folder.exists() else []
        return subprocess.run(["git", *where, *args], env=env, capture_output=True, text=True, check=False)

    def git(self, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str], start: str = "") -> str:
        if start:
            self.git("checkout", "-q", "--detach", start)
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            self.git("add", path)
        self.git("commit", "-q", "-m", "Change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path, repo: Repository, token: str) -> Clone:
    made = Clone(tmp_path / "clone", repo.clone_url, token)
    made.git("fetch", "-q", "origin", "main")
    made.git("checkout", "-q", "--detach", "FETCH_HEAD")
    return made


class TestIssues:
    def test_comments_are_made_edited_found_and_deleted(self, repo: Repository, remote: Remote) -> None:
        issue = remote.get_issue(repo.open_issue(author="alice", title="Add", body="- [ ] it adds").number)
        assert (issue.title, issue.body, issue.user.login, issue.pull_request) == (
            "Add",
            "- [ ] it adds",
            "alice",
            None,
        )
        comment = issue.create_comment("one")
        comment.edit("two")
        assert [(c.body, c.user.login, c.user.type) for c in issue.get_comments()] == [("two", BOT, "Bot")]
        assert issue.get_comment(comment.id).html_url == f"{repo.url}/issues/1#issuecomment-{comment.id}"
        comment.delete()
        assert repo.comments(1) == []

    def test_many_comments_come_in_pages(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Talk")
        for number in range(70):
            repo.comment(1, str(number), author="alice")
        assert [c.body for c in remote.get_issue(1).get_comments()] == [str(number) for number in range(70)]
        assert [r.template for r in hub.journal].count("/repos/{owner}/{repo}/issues/{issue_number}/comments") == 3

    def test_comments_since_a_moment(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Talk")
        for day in (1, 2, 3):
            hub.clock = lambda day=day: datetime(2026, 5, day, tzinfo=UTC)  # type: ignore[misc]
            repo.comment(1, f"day {day}", author="alice")
        found = remote.get_issue(1).get_comments(since=datetime(2026, 5, 2, tzinfo=UTC))
        assert [comment.body for comment in found] == ["day 2", "day 3"]

    def test_labels_are_made_on_the_fly_and_their_case_is_one(self, repo: Repository, remote: Remote) -> None:
        issue = remote.get_issue(repo.open_issue(author="alice", title="Add").number)
        remote.create_label("autobuild:running", "0e8a16", "being built")
        issue.add_to_labels("autobuild:running", "Other", "other")
        assert repo.labels_of(1) == ["autobuild:running", "Other"]
        assert remote.get_label("autobuild:running").color == "0e8a16"
        issue.remove_from_labels("OTHER")
        assert [label.name for label in issue.get_labels()] == ["autobuild:running"]
        assert "already_exists" in refused(422, remote.create_label, "AUTOBUILD:running", "000000")

    def test_an_absent_label_is_not_found(self, repo: Repository, remote: Remote) -> None:
        issue = remote.get_issue(repo.open_issue(author="alice", title="Add").number)
        assert refused(404, issue.remove_from_labels, "nope") == "Label does not exist"

    def test_a_reaction_again_is_the_same_reaction(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add")
        comment = remote.get_issue(1).create_comment("hi")
        assert comment.create_reaction("eyes").id == comment.create_reaction("eyes").id
        first, again = (remote.get_issue(1).create_reaction("rocket") for _ in range(2))
        assert first.id == again.id
        assert repo.reactions(1) == [(BOT, "rocket")]
        statuses = [r.status for r in repo.hub.journal if r.template.endswith("/reactions")]
        assert statuses == [201, 200, 201, 200]

    def test_issues_are_listed_by_state_and_label(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="one", labels=("autobuild",))
        repo.open_issue(author="alice", title="two")
        repo.open_issue(author="alice", title="three", labels=("autobuild",))
        remote.get_issue(3).edit(state="closed", state_reason="not_planned")
        assert [issue.title for issue in remote.get_issues(labels=["autobuild"])] == ["one"]
        assert [issue.number for issue in remote.get_issues(state="all")] == [3, 2, 1]
        assert remote.get_issue(3).state_reason == "not_planned"

    def test_bodies_have_a_limit(self, repo: Repository, remote: Remote) -> None:
        issue = remote.get_issue(repo.open_issue(author="alice", title="Add").number)
        issue.create_comment("x" * 65_536)
        said = "IssueComment unprocessable data Body is too long (maximum is 65536 characters)"
        assert refused(422, issue.create_comment, "x" * 65_537) == f"Validation Failed | {said}"
        assert "Issue custom body body is too long" in refused(422, issue.edit, body="x" * 65_537)
        assert len(repo.comments(1)) == 1


class TestWhoMay:
    def test_roles_in_both_words(self, repo: Repository, remote: Remote) -> None:
        seen = {
            login: (remote.get_collaborator_permission(login), remote.get_collaborator_role_name(login))
            for login in ("octo", "max", "alice", "trudy", "mallory")
        }
        assert seen == {
            "octo": ("admin", "admin"),
            "max": ("write", "maintain"),
            "alice": ("write", "write"),
            "trudy": ("read", "triage"),
            "mallory": ("read", "read"),
        }
        repo.private = True
        assert remote.get_collaborator_permission("mallory") == "none"

    def test_a_bot_is_not_a_user_and_a_ghost_is_nobody(self, remote: Remote) -> None:
        assert refused(404, remote.get_collaborator_permission, BOT) == f"{BOT} is not a user"
        assert refused(404, remote.get_collaborator_permission, "ghost") == "Not Found"

    def test_an_unknown_or_ended_token(self, hub: GitHub, remote: Remote, token: str) -> None:
        with pytest.raises(BadCredentialsException):
            connect(hub, "ghs_made_up")
        hub.revoke(token)
        assert refused(401, remote.get_issue, 1) == "Bad credentials"

    def test_a_bot_has_no_user_but_a_viewer(self, hub: GitHub, remote: Remote) -> None:
        get_login = Github(auth=remote.requester.auth, base_url=hub.api, retry=None).get_user()
        assert refused(403, lambda: get_login.login) == "Resource not accessible by integration"
        assert graphql(remote, "{viewer{login databaseId}}") == {"viewer": {"login": BOT, "databaseId": 41898282}}
        person = Github(auth=Auth.Token(hub.token("alice")), base_url=hub.api, retry=None)
        assert person.get_user().login == "alice"

    @pytest.mark.parametrize(
        ("missing", "call"),
        [
            ("issues", lambda remote: remote.get_issue(1).create_comment("x")),
            ("statuses", lambda remote: remote.get_commit("main").create_status("success")),
            ("pull_requests", lambda remote: remote.create_pull("main", "work", title="t", body="b")),
            ("contents", lambda remote: remote.create_git_ref("refs/heads/x", remote.get_commit("main").sha)),
        ],
    )
    def test_a_permission_not_asked_for(
        self, hub: GitHub, repo: Repository, missing: str, call: Callable[[Remote], Any]
    ) -> None:
        repo.open_issue(author="alice", title="Add")
        repo.commit("work", {"a": "b"})
        permissions = {scope: level for scope, level in ALL.items() if scope != missing}
        remote = connect(hub, hub.token(BOT, repo, permissions=permissions))
        assert refused(403, call, remote) == "Resource not accessible by integration"

    def test_either_permission_will_do_on_a_pull_request(
        self, hub: GitHub, repo: Repository, pull: PullRequest
    ) -> None:
        for scope in ("issues", "pull_requests"):
            connect(hub, hub.token(BOT, repo, permissions={scope: "write"})).get_issue(1).create_comment("hi")
        assert len(repo.comments(pull.number)) == 2

    def test_a_stranger_may_comment_but_not_label(self, hub: GitHub, repo: Repository) -> None:
        repo.open_issue(author="alice", title="Add")
        issue = connect(hub, hub.token("mallory")).get_issue(1)
        issue.create_comment("hello")
        assert refused(403, issue.add_to_labels, "autobuild") == "Must have admin rights to Repository."
        assert repo.labels_of(1) == []

    def test_a_private_repository_is_not_there_for_others(self, hub: GitHub, repo: Repository) -> None:
        other = hub.token(BOT, hub.repository("octo/other", files={"a": "b"}), permissions=ALL)
        repo.private = True
        for token in (hub.token("mallory"), other):
            with pytest.raises(UnknownObjectException):
                connect(hub, token)


class TestPullRequests:
    def test_it_follows_its_branch(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        assert (pull.draft, pull.state, pull.head.ref, pull.base.ref) == (
            True,
            "open",
            "autobuild/issue-1",
            "main",
        )
        assert (pull.additions, pull.deletions, pull.changed_files, pull.commits) == (3, 2, 2, 1)
        assert [(file.filename, file.status) for file in pull.get_files()] == [
            ("README.md", "modified"),
            ("new.py", "added"),
        ]
        sha = repo.commit("autobuild/issue-1", {"new.py": "a = 1\n"})
        assert remote.get_pull(pull.number).head.sha == sha
        assert repo.git.refs("refs/pull") == {f"refs/pull/{pull.number}/head": sha}

    def test_issues_and_pull_requests_share_numbers(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        assert (pull.number, repo.open_issue(author="alice", title="Add").number) == (1, 2)
        assert remote.get_issue(1).pull_request is not None
        with pytest.raises(UnknownObjectException):
            remote.get_pull(2)

    def test_it_is_found_by_owner_and_branch(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        repo.commit("other", {"a": "b"})
        repo.open_pull(author="alice", head="other", title="Other")
        assert [p.number for p in remote.get_pulls(head="octo:autobuild/issue-1")] == [pull.number]
        assert list(remote.get_pulls(head="mallory:autobuild/issue-1")) == []
        assert [p.number for p in remote.get_pulls(state="all", base="main")] == [2, 1]

    def test_a_fork_may_use_the_same_branch_name(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        repo.commit("autobuild/issue-1", {"evil.py": "1\n"}, fork="mallory")
        repo.open_pull(author="mallory", head="autobuild/issue-1", title="Mine", fork="mallory")
        forked = remote.get_pull(2)
        assert (forked.head.ref, forked.head.repo.full_name, forked.head.repo.fork) == (
            "autobuild/issue-1",
            "mallory/calc",
            True,
        )
        assert [p.number for p in remote.get_pulls(head="octo:autobuild/issue-1")] == [pull.number]

    def test_title_body_and_state_change(self, repo: Repository, pull: PullRequest) -> None:
        pull.edit(title="Better", body="Text", state="closed")
        assert (repo.pulls[0].title, repo.pulls[0].body, repo.pulls[0].state) == ("Better", "Text", "closed")
        pull.edit(state="open")
        assert repo.pulls[0].state == "open"

    def test_ready_and_draft_need_two_permissions(self, hub: GitHub, repo: Repository, pull: PullRequest) -> None:
        drafts = [repo.pulls[0].draft]
        pull.mark_ready_for_review()
        drafts.append(repo.pulls[0].draft)
        pull.convert_to_draft()
        drafts.append(repo.pulls[0].draft)
        assert drafts == [True, False, True]
        poor = connect(hub, hub.token(BOT, repo, permissions=ALL | {"contents": "read"})).get_pull(1)
        with pytest.raises(GithubException, match="Resource not accessible by integration"):
            poor.mark_ready_for_review()
        assert repo.pulls[0].draft

    def test_a_second_one_for_the_branch(self, remote: Remote, pull: PullRequest) -> None:
        said = refused(422, remote.create_pull, "main", pull.head.ref, title="Again", body="")
        assert (
            said == "Validation Failed | PullRequest custom None "
            "A pull request already exists for octo:autobuild/issue-1."
        )

    def test_without_a_difference(self, repo: Repository, remote: Remote) -> None:
        repo.git("branch", "same", "main")
        said = refused(422, remote.create_pull, "main", "same", title="t", body="")
        assert said == "Validation Failed | PullRequest custom None No commits between main and same"

    @pytest.mark.parametrize(("base", "head", "field"), [("main", "nope", "head"), ("nope", "main", "base")])
    def test_a_missing_end(self, remote: Remote, base: str, head: str, field: str) -> None:
        said = refused(422, remote.create_pull, base, head, title="t", body="")
        assert said == f"Validation Failed | PullRequest invalid {field} None"

    def test_where_drafts_are_not_supported(self, repo: Repository, remote: Remote) -> None:
        repo.commit("work", {"a": "b"})
        repo.drafts_supported = False
        said = refused(422, remote.create_pull, "main", "work", title="t", body="", draft=True)
        assert said == "Draft pull requests are not supported in this repository."
        assert remote.create_pull("main", "work", title="t", body="").number == 1

    def test_where_actions_may_not_open_any(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.commit("work", {"a": "b"})
        repo.actions_may_open_pulls = False
        said = refused(403, remote.create_pull, "main", "work", title="t", body="")
        assert said == "GitHub Actions is not permitted to create or approve pull requests."
        hub.bot("my-app[bot]")
        app = connect(hub, hub.token("my-app[bot]", repo, permissions=ALL))
        assert app.create_pull("main", "work", title="t", body="").user.login == "my-app[bot]"

    def test_too_long_a_body(self, repo: Repository, remote: Remote) -> None:
        repo.commit("work", {"a": "b"})
        said = refused(422, remote.create_pull, "main", "work", title="t", body="x" * 65_537)
        assert "PullRequest custom body" in said

    def test_reviewers_must_be_collaborators(self, repo: Repository, pull: PullRequest) -> None:
        pull.create_review_request(["alice"])
        assert [user.login for user in repo.pulls[0].requested_reviewers] == ["alice"]
        assert refused(422, pull.create_review_request, ["mallory"]).startswith(
            "Reviews may only be requested from collaborators."
        )

    def test_it_closes_with_its_branch_and_stays_so(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        old = repo.pulls[0].head_sha
        repo.git("update-ref", "-d", "refs/heads/autobuild/issue-1")
        assert remote.get_pull(1).state == "closed"
        assert "branch has been deleted" in refused(422, pull.edit, state="open")
        repo.commit("autobuild/issue-1", {"other": "history\n"})
        assert "was force-pushed or recreated" in refused(422, pull.edit, state="open")
        repo.git("update-ref", "refs/heads/autobuild/issue-1", old)
        pull.edit(state="open")
        assert repo.pulls[0].state == "open"

    @pytest.mark.usefixtures("pull")
    def test_merged_by_a_person(self, repo: Repository, remote: Remote) -> None:
        repo.merge(1, by="alice")
        merged = remote.get_pull(1)
        assert (merged.merged, merged.state, merged.merged_by.login) == (True, "closed", "alice")
        assert repo.files_at("main")["new.py"] == "a = 1\nb = 2\n"


class TestReviews:
    def review(self, pull: PullRequest, *comments: dict[str, Any], event: str = "COMMENT", body: str = "Text") -> Any:
        commit = pull.base.repo.get_commit(pull.head.sha)
        return pull.create_review(commit, body, event, comments=list(comments))  # type: ignore[arg-type]

    def test_a_review_with_comments_on_lines(self, repo: Repository, pull: PullRequest) -> None:
        review = self.review(
            pull,
            {"path": "README.md", "line": 20, "side": "RIGHT", "body": "changed"},
            {"path": "README.md", "line": 30, "side": "LEFT", "body": "gone"},
            {
                "path": "new.py",
                "start_line": 1,
                "line": 2,
                "side": "RIGHT",
                "start_side": "RIGHT",
                "body": "both",
            },
        )
        assert (review.state, review.commit_id, review.user.login) == ("COMMENTED", pull.head.sha, BOT)
        seen = [(c.path, c.line, c.body, c.pull_request_review_id) for c in pull.get_review_comments()]
        expected = [("README.md", 20, "changed"), ("README.md", 30, "gone"), ("new.py", 2, "both")]
        assert seen == [(*one, review.id) for one in expected]
        assert [c.body for c in pull.get_single_review_comments(review.id)] == ["changed", "gone", "both"]
        assert [r.body for r in pull.get_reviews()] == ["Text"]
        assert repo.review_comments(1)[2].start_line == 1

    @pytest.mark.parametrize("line", [17, 23, 27, 32])
    def test_three_lines_around_a_change_may_carry_one(self, pull: PullRequest, line: int) -> None:
        self.review(pull, {"path": "README.md", "line": line, "body": "x"})

    @pytest.mark.parametrize(
        ("comments", "said"),
        [
            ([{"path": "README.md", "line": 16, "body": "x"}], "Line could not be resolved"),
            ([{"path": "README.md", "line": 33, "body": "x"}], "Line could not be resolved"),
            ([{"path": "src/a b/ü.py", "line": 1, "body": "x"}], "Path could not be resolved"),
            ([{"path": "new.py", "line": 1, "side": "LEFT", "body": "x"}], "Line could not be resolved"),
            (
                [{"path": "README.md", "start_line": 20, "line": 30, "body": "x"}],
                "Start line could not be resolved",
            ),
            (
                [{"path": "nope", "line": 1, "body": "x"}, {"path": "new.py", "line": 9, "body": "x"}],
                "Path could not be resolved and Line could not be resolved",
            ),
            (
                [{"path": "nope", "line": 1, "body": "x"}] * 3,
                "Path could not be resolved, Path could not be resolved, and Path could not be resolved",
            ),
        ],
    )
    def test_one_comment_outside_the_diff_and_nothing_is_posted(
        self, repo: Repository, pull: PullRequest, comments: list[dict[str, Any]], said: str
    ) -> None:
        good = {"path": "README.md", "line": 20, "body": "fine"}
        assert refused(422, self.review, pull, good, *comments) == f"Unprocessable Entity | {said}"
        assert (repo.reviews(1), repo.review_comments(1)) == ([], [])

    def test_renamed_files_and_strange_names(self, repo: Repository, remote: Remote) -> None:
        repo.commit("names", {"README.md": None, "docs/READ ME.md": changed(TEXT), "src/a b/ü.py": "x = 2\n"})
        pull = remote.create_pull("main", "names", title="t", body="b")
        self.review(
            pull,
            {"path": "docs/READ ME.md", "line": 20, "body": "x"},
            {"path": "src/a b/ü.py", "line": 1, "body": "x"},
        )
        assert [(f.filename, f.previous_filename) for f in pull.get_files() if f.status == "renamed"] == [
            ("docs/READ ME.md", "README.md")
        ]

    def test_nobody_judges_the_own_pull_request(self, repo: Repository, pull: PullRequest) -> None:
        assert refused(422, self.review, pull, event="APPROVE").endswith("| Can not approve your own pull request")
        said = refused(422, self.review, pull, event="REQUEST_CHANGES")
        assert said.endswith("| Can not request changes on your own pull request")
        assert repo.reviews(1) == []

    def test_another_may_approve_unless_it_is_actions(self, hub: GitHub, repo: Repository, pull: PullRequest) -> None:
        theirs = connect(hub, hub.token("alice")).get_pull(1)
        assert self.review(theirs, event="APPROVE").state == "APPROVED"
        repo.commit("hers", {"a": "b"})
        number = repo.open_pull(author="alice", head="hers", title="Hers").number
        repo.actions_may_open_pulls = False
        said = refused(422, self.review, pull.base.repo.get_pull(number), event="APPROVE")
        assert said.endswith("| GitHub Actions is not permitted to approve pull requests.")

    def test_a_comment_needs_words(self, repo: Repository, pull: PullRequest) -> None:
        assert refused(422, self.review, pull, body="").startswith("Unprocessable Entity")
        assert refused(422, self.review, pull, body="x" * 65_537).startswith("Validation Failed")
        assert repo.reviews(1) == []

    def test_without_an_event_it_is_pending_and_blocks_the_next(self, hub: GitHub, pull: PullRequest) -> None:
        pull.create_review(body="later")
        said = refused(422, self.review, pull)
        assert said.endswith("| User can only have one pending review per pull request")
        assert [r.state for r in pull.get_reviews()] == ["PENDING"]
        assert list(connect(hub, hub.token("alice")).get_pull(1).get_reviews()) == []

    def test_a_commit_that_is_not_in_the_pull_request(self, remote: Remote, pull: PullRequest) -> None:
        said = refused(422, pull.create_review, remote.get_commit("main"), "x", "COMMENT")
        assert said.endswith("commit_id is not part of the pull request")

    def test_an_older_commit_outdates_its_comments(self, repo: Repository, remote: Remote, pull: PullRequest) -> None:
        repo.commit("autobuild/issue-1", {"new.py": "b = 2\n"})
        self.review(pull, {"path": "new.py", "line": 2, "body": "x"}, {"path": "README.md", "line": 20, "body": "y"})
        assert [c.line for c in remote.get_pull(1).get_review_comments()] == [None, 20]

    def test_single_comments_word_their_refusal_differently(self, remote: Remote, pull: PullRequest) -> None:
        commit = remote.get_commit(pull.head.sha)
        assert pull.create_review_comment("x", commit, "new.py", 1).line == 1
        said = refused(422, pull.create_review_comment, "x", commit, "new.py", 3)
        assert "pull_request_review_thread.line must be part of the diff" in said

    def test_replies_go_to_the_first_comment_only(self, repo: Repository, pull: PullRequest) -> None:
        self.review(pull, {"path": "new.py", "line": 1, "body": "x"})
        first = repo.review_comments(1)[0]
        reply = pull.create_review_comment_reply(first.id, "why")
        assert reply.in_reply_to_id == first.id
        assert refused(404, pull.create_review_comment_reply, reply.id, "again") == "Not Found"

    def test_threads_are_read_answered_and_resolved_by_graphql(
        self, hub: GitHub, repo: Repository, remote: Remote, pull: PullRequest
    ) -> None:
        self.review(pull, {"path": "new.py", "line": 1, "body": "x"})
        query = """query($n:Int!){repository(owner:"octo",name:"calc"){pullRequest(number:$n){
            isDraft state merged
            reviewThreads(first:50){pageInfo{hasNextPage endCursor} nodes{id isResolved isOutdated path line
            comments(first:9){totalCount nodes{databaseId body author{login __typename}}}}}}}}"""
        found = graphql(remote, query, n=1)["repository"]["pullRequest"]
        thread = found["reviewThreads"]["nodes"][0]
        author = {"login": "github-actions", "__typename": "Bot"}  # without [bot], other than in REST
        assert (found["isDraft"], found["state"], found["merged"]) == (True, "OPEN", False)
        assert (thread["isResolved"], thread["isOutdated"], thread["path"], thread["line"]) == (
            False,
            False,
            "new.py",
            1,
        )
        assert [(c["body"], c["author"]) for c in thread["comments"]["nodes"]] == [("x", author)]
        mutation = """mutation($t:ID!){addPullRequestReviewThreadReply(
            input:{pullRequestReviewThreadId:$t,body:"done"}){comment{body}}}"""
        graphql(remote, mutation, t=thread["id"])
        graphql(
            remote,
            "mutation($t:ID!){resolveReviewThread(input:{threadId:$t}){thread{isResolved}}}",
            t=thread["id"],
        )
        assert [c.body for c in repo.review_comments(1)] == ["x", "done"]
        assert graphql(remote, query, n=1)["repository"]["pullRequest"]["reviewThreads"]["nodes"][0]["isResolved"]
        stranger = connect(hub, hub.token("mallory"))
        with pytest.raises(GithubException, match="Resource not accessible"):
            graphql(
                stranger,
                "mutation($t:ID!){unresolveReviewThread(input:{threadId:$t}){thread{id}}}",
                t=thread["id"],
            )


class TestCommits:
    def test_statuses_newest_first_and_combined(self, repo: Repository, remote: Remote) -> None:
        commit = remote.get_commit("main")
        for state in ("pending", "failure", "success"):
            commit.create_status(state, "http://example.org", f"it is {state}", "autobuild")
        latest = commit.get_statuses()[0]
        assert (latest.state, latest.creator.login) == ("success", BOT)
        assert commit.get_combined_status().state == "success"
        commit.create_status("error", context="AUTOBUILD")
        combined = commit.get_combined_status()
        assert (combined.state, combined.total_count) == ("failure", 1)
        assert [s.state for s in repo.statuses("main")] == ["error", "success", "failure", "pending"]

    def test_a_description_has_140_characters(self, repo: Repository, remote: Remote) -> None:
        commit = remote.get_commit("main")
        commit.create_status("success", description="x" * 140)
        said = refused(422, commit.create_status, "success", description="x" * 141)
        assert said.endswith("Status custom description description is too long (maximum is 140 characters)")
        assert len(repo.statuses("main")) == 1

    @pytest.mark.usefixtures("pull")
    def test_compare_by_branches_with_slashes(self, repo: Repository, remote: Remote) -> None:
        repo.commit("main", {"base": "moved\n"})
        found = remote.compare("main", "autobuild/issue-1")
        assert (found.status, found.ahead_by, found.behind_by, len(list(found.commits))) == (
            "diverged",
            1,
            1,
            1,
        )
        assert [file.filename for file in found.files] == ["README.md", "new.py"]

    def test_refs_are_read_listed_and_made_once(self, remote: Remote) -> None:
        sha = remote.get_commit("main").sha
        remote.create_git_ref("refs/autobuild/issue-1/lease", sha)
        assert remote.get_git_ref("autobuild/issue-1/lease").object.sha == sha
        assert [ref.ref for ref in remote.get_git_matching_refs("autobuild/issue-1/")] == [
            "refs/autobuild/issue-1/lease"
        ]
        assert refused(422, remote.create_git_ref, "refs/autobuild/issue-1/lease", sha) == "Reference already exists"
        assert refused(404, remote.get_git_ref, "autobuild/issue-1") == "Not Found"

    def test_runs(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.add_run(77, status="completed", conclusion="cancelled")
        assert (remote.get_workflow_run(77).status, remote.get_workflow_run(77).conclusion) == (
            "completed",
            "cancelled",
        )
        assert refused(404, remote.get_workflow_run, 78) == "Not Found"
        repo.private = True
        blind = connect(hub, hub.token(BOT, repo, permissions=ALL | {"actions": "none"}))
        assert refused(403, blind.get_workflow_run, 77) == "Resource not accessible by integration"

    def test_the_rate_limit(self, hub: GitHub, remote: Remote) -> None:
        github = Github(auth=remote.requester.auth, base_url=hub.api, retry=None)
        assert github.get_rate_limit().resources.core.remaining > 0


class TestGraphQL:
    POLL = """query($n:Int!){repository(owner:"octo",name:"calc"){issue(number:$n){
        number title body state createdAt lastEditedAt url author{login} labels(first:20){nodes{name}}
        comments(last:2){pageInfo{hasPreviousPage}
            nodes{databaseId body isMinimized createdAt author{login __typename}}}
        timelineItems(itemTypes:[RENAMED_TITLE_EVENT],last:5){nodes{__typename ...on RenamedTitleEvent{
            createdAt previousTitle currentTitle actor{login}}}}}}}"""

    def test_one_query_tells_all_about_an_issue(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add", body="old", labels=("autobuild",))
        for text in ("one", "two", "three"):
            repo.comment(1, text, author="mallory")
        issue = graphql(remote, self.POLL, n=1)["repository"]["issue"]
        assert (issue["state"], issue["lastEditedAt"], issue["timelineItems"]["nodes"]) == ("OPEN", None, [])
        repo.edit_issue(1, title="Add more", body="new", by="alice", at=datetime(2026, 5, 1, 12, tzinfo=UTC))
        repo.set_state(1, "closed")
        issue = graphql(remote, self.POLL, n=1)["repository"]["issue"]
        assert (issue["state"], issue["body"], issue["lastEditedAt"]) == (
            "CLOSED",
            "new",
            "2026-05-01T12:00:00Z",
        )
        assert issue["labels"]["nodes"] == [{"name": "autobuild"}]
        assert [node["body"] for node in issue["comments"]["nodes"]] == ["two", "three"]
        assert issue["comments"]["pageInfo"]["hasPreviousPage"]
        assert issue["timelineItems"]["nodes"] == [
            {
                "__typename": "RenamedTitleEvent",
                "createdAt": "2026-05-01T12:00:00Z",
                "previousTitle": "Add",
                "currentTitle": "Add more",
                "actor": {"login": "alice"},
            }
        ]
        assert issue["url"] == f"{repo.url}/issues/1"

    def test_pages_forward(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add")
        for number in range(5):
            repo.comment(1, str(number), author="alice")
        query = """query($c:String){repository(owner:"octo",name:"calc"){issue(number:1){
            comments(first:2,after:$c){pageInfo{hasNextPage endCursor} nodes{body}}}}}"""
        seen, cursor, more = [], None, True
        while more:
            page = graphql(remote, query, c=cursor)["repository"]["issue"]["comments"]
            seen += [node["body"] for node in page["nodes"]]
            cursor, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        assert seen == ["0", "1", "2", "3", "4"]

    def test_comments_are_minimised(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add")
        comment = remote.get_issue(1).create_comment("old news")
        assert comment.minimize("OUTDATED")
        assert repo.comments(1)[0].minimized == "OUTDATED"

    def test_what_is_not_there(self, remote: Remote) -> None:
        query = 'query{repository(owner:"octo",name:"calc"){issue(number:9){id}}}'
        assert refused_graphql(remote, query) == "Could not resolve to an Issue with the number of 9."
        query = 'query{repository(owner:"octo",name:"nope"){id}}'
        assert refused_graphql(remote, query) == "Could not resolve to a Repository with the name 'octo/nope'."

    def test_a_connection_needs_bounds(self, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add")
        query = 'query{repository(owner:"octo",name:"calc"){issue(number:1){comments%s{totalCount}}}}'
        assert "You must provide a `first` or `last` value" in refused_graphql(remote, query % "")
        assert "exceeds the `first` limit of 100" in refused_graphql(remote, query % "(first:101)")

    def test_an_unknown_field_is_a_violation(self, hub: GitHub, remote: Remote) -> None:
        assert "Cannot query field 'nope'" in refused_graphql(remote, "{viewer{nope}}")
        assert "is not modelled" in refused_graphql(remote, "{viewer{bio}}")
        assert len(hub.violations) == 2
        hub.violations.clear()


def refused_graphql(remote: Remote, query: str) -> str:
    with pytest.raises(GithubException) as caught:
        graphql(remote, query)
    data = caught.value.data
    assert isinstance(data, dict)
    return str(data["errors"][0]["message"])


class TestGit:
    def test_fetch_and_push_over_http(self, repo: Repository, clone: Clone) -> None:
        sha = clone.commit({"added.txt": "hello\n"})
        clone.git("push", "-q", "origin", "HEAD:refs/heads/work")
        assert repo.files_at("work")["added.txt"] == "hello\n"
        assert repo.git("rev-parse", "work") == sha

    def test_a_large_push_comes_in_chunks(self, repo: Repository, clone: Clone) -> None:
        clone.commit({"big.txt": base64.b64encode(os.urandom(3_000_000)).decode()})
        clone.git("push", "-q", "origin", "HEAD:refs/heads/big")
        assert len(repo.files_at("big")["big.txt"]) == 4_000_000

    def test_branch_and_journal_go_together(self, repo: Repository, clone: Clone) -> None:
        sha = clone.commit({"a": "1\n"})
        clone.git(
            "push",
            "-q",
            "--atomic",
            "origin",
            "HEAD:refs/heads/autobuild/issue-1",
            "HEAD:refs/autobuild/issue-1/journal",
        )
        assert repo.git.refs("refs/autobuild") == {"refs/autobuild/issue-1/journal": sha}

    def test_one_refused_and_neither_is_pushed(self, repo: Repository, clone: Clone) -> None:
        repo.refuse_pushes({"refs/heads/autobuild/*": "protected branch hook declined"})
        clone.commit({"a": "1\n"})
        done = clone.run(
            "push",
            "--atomic",
            "origin",
            "HEAD:refs/heads/autobuild/issue-1",
            "HEAD:refs/autobuild/issue-1/journal",
        )
        assert done.returncode == 1
        assert "autobuild/issue-1 (protected branch hook declined)" in done.stderr
        assert set(repo.git.refs()) == {"refs/heads/main"}

    def test_of_two_leases_one_wins(self, repo: Repository, clone: Clone) -> None:
        first, second = clone.commit({"a": "1\n"}), clone.commit({"a": "2\n"}, "HEAD~1")
        lease = "refs/autobuild/issue-1/lease"
        clone.git("push", "-q", f"--force-with-lease={lease}:", "origin", f"{first}:{lease}")
        late = clone.run("push", f"--force-with-lease={lease}:", "origin", f"{second}:{lease}")
        assert (late.returncode, "(stale info)" in late.stderr) == (1, True)
        plain = clone.run("push", "origin", f"{second}:{lease}")
        assert (plain.returncode, "[rejected]" in plain.stderr) == (1, True)
        assert repo.git.refs("refs/autobuild") == {lease: first}

    def test_an_app_may_not_touch_workflows(self, repo: Repository, clone: Clone) -> None:
        clone.commit({".github/workflows/x.yml": "on: push\n"})
        done = clone.run("push", "--atomic", "origin", "HEAD:refs/heads/w", "HEAD:refs/autobuild/issue-1/journal")
        what = "create or update workflow `.github/workflows/x.yml` without `workflows` permission"
        assert done.returncode == 1
        assert f"! [remote rejected] HEAD -> w (refusing to allow a GitHub App to {what})" in done.stderr
        assert set(repo.git.refs()) == {"refs/heads/main"}

    def test_carrying_a_workflow_along_is_fine(self, repo: Repository, clone: Clone) -> None:
        tree = clone.git("rev-parse", "HEAD^{tree}")
        squashed = clone.git("commit-tree", tree, "-m", "all of it, without history")
        clone.git("push", "-q", "origin", f"{squashed}:refs/heads/squashed")
        assert repo.git.resolve("squashed") == squashed

    def test_a_person_may_touch_workflows(self, tmp_path: Path, hub: GitHub, repo: Repository) -> None:
        alice = Clone(tmp_path / "alice", repo.clone_url, hub.token("alice"))
        alice.commit({".github/workflows/x.yml": "on: push\n"})
        alice.git("push", "-q", "origin", "HEAD:refs/heads/w")
        assert ".github/workflows/x.yml" in repo.files_at("w")

    def test_who_may_not(self, tmp_path: Path, hub: GitHub, repo: Repository) -> None:
        nobody = Clone(tmp_path / "nobody", repo.clone_url, None)
        nobody.commit({"a": "b\n"})
        assert nobody.run("fetch", "-q", "origin").returncode == 0
        assert "could not read Username" in nobody.run("push", "origin", "HEAD:refs/heads/x").stderr
        nobody.token = "ghs_made_up"
        assert "could not read Username" in nobody.run("fetch", "origin").stderr
        nobody.token = hub.token("mallory")
        denied = nobody.run("push", "origin", "HEAD:refs/heads/x").stderr
        assert "Permission to octo/calc.git denied to mallory" in denied
        assert "error: 403" in denied
        nobody.token = hub.token(BOT, repo, permissions={"contents": "read"})
        assert "error: 403" in nobody.run("push", "origin", "HEAD:refs/heads/x").stderr
        repo.private = True
        nobody.token = hub.token("mallory")
        assert "not found" in nobody.run("fetch", "origin").stderr
        nobody.token = None
        assert "could not read Username" in nobody.run("fetch", "origin").stderr
        assert set(repo.git.refs()) == {"refs/heads/main"}

    def test_the_head_of_a_pull_request_can_be_fetched_but_not_pushed(self, clone: Clone, pull: PullRequest) -> None:
        clone.git("fetch", "-q", "origin", f"refs/pull/{pull.number}/head")
        assert clone.git("rev-parse", "FETCH_HEAD") == pull.head.sha
        assert "deny updating a hidden ref" in clone.run("push", "-f", "origin", "HEAD:refs/pull/1/head").stderr

    def test_a_push_moves_the_pull_request_at_once(self, repo: Repository, clone: Clone, pull: PullRequest) -> None:
        clone.git("fetch", "-q", "origin", pull.head.ref)
        sha = clone.commit({"more": "1\n"}, "FETCH_HEAD")
        clone.git("push", "-q", "origin", f"HEAD:{pull.head.ref}")
        assert repo.git.refs("refs/pull") == {"refs/pull/1/head": sha}

    def test_nothing_of_the_callers_git_is_used(
        self, tmp_path: Path, hub: GitHub, repo: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".gitconfig").write_text("this is no configuration\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
        Clone(tmp_path / "other", repo.clone_url, hub.token("alice")).git("fetch", "-q", "origin", "main")
        assert repo.commit("main", {"a": "b"}) == repo.git.sha("main")

    @pytest.mark.parametrize("object_format", ["sha1", "sha256"])
    def test_an_empty_repository_takes_a_first_commit(self, hub: GitHub, tmp_path: Path, object_format: Any) -> None:
        empty = hub.repository("octo/empty", object_format=object_format)
        clone = Clone(tmp_path / "clone", empty.clone_url, hub.token("octo"), object_format)
        clone.git("fetch", "-q", "origin")
        sha = empty.commit("main", {"README.md": "hi\n"})
        clone.git("fetch", "-q", "origin", "main")
        assert clone.git("rev-parse", "FETCH_HEAD") == sha
        assert len(sha) == {"sha1": 40, "sha256": 64}[object_format]


class TestFaults:
    def test_before_nothing_happens_after_it_has_happened(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add")
        issue = remote.get_issue(1)
        for when, left in (("before", 0), ("after", 1)):
            hub.fault = on("POST", Fault(when=when, status=502, body="<html>Unicorn</html>"))  # type: ignore[arg-type]
            with pytest.raises(GithubException) as caught:
                issue.create_comment("hi")
            assert (caught.value.status, len(repo.comments(1))) == (502, left)

    @pytest.mark.parametrize(("when", "left"), [("before", 0), ("after", 1)])
    def test_a_dropped_connection(self, hub: GitHub, repo: Repository, remote: Remote, when: Any, left: int) -> None:
        repo.open_issue(author="alice", title="Add")
        issue = remote.get_issue(1)
        hub.fault = on("POST", Fault(when=when, drop=True))
        with pytest.raises(requests.ConnectionError, match="RemoteDisconnected"):
            issue.create_comment("hi")
        assert len(repo.comments(1)) == left
        assert hub.journal[-1].status == 0

    def test_headers_and_bodies_are_the_tests_own(self, hub: GitHub, remote: Remote) -> None:
        hub.fault = lambda *_: Fault(status=429, body={"message": "slow down"}, headers={"Retry-After": "7"})
        with pytest.raises(GithubException) as caught:
            remote.get_issue(1)
        assert (caught.value.status, (caught.value.headers or {})["retry-after"]) == (429, "7")

    @pytest.mark.parametrize(("when", "pushed"), [("before", False), ("after", True)])
    def test_git_too(self, hub: GitHub, repo: Repository, clone: Clone, when: Any, pushed: bool) -> None:  # noqa: FBT001
        clone.commit({"a": "1\n"})
        hub.fault = on("POST", Fault(when=when, drop=True), "/octo/calc.git/git-receive-pack")
        assert clone.run("push", "origin", "HEAD:refs/heads/work").returncode != 0
        hub.fault = None
        assert (repo.git.resolve("work") is not None) == pushed

    def test_a_fault_sees_what_is_sent(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        seen: list[tuple[str, str, Any]] = []

        def look(method: str, path: str, body: Any) -> None:
            seen.append((method, path, body))

        hub.fault = look
        repo.open_issue(author="alice", title="Add")
        remote.get_issue(1).create_comment("hi")
        graphql(remote, "{viewer{login}}")
        assert [request[:2] for request in seen] == [
            ("GET", "/repos/octo/calc/issues/1"),
            ("POST", "/repos/octo/calc/issues/1/comments"),
            ("POST", "/graphql"),
        ]
        assert seen[1][2] == {"body": "hi"}


def on(method: str, fault: Fault, path: str = "") -> Callable[[str, str, Any], Fault | None]:
    return lambda m, p, _: fault if m == method and path in p else None


class TestStrictness:
    @pytest.mark.parametrize(
        ("method", "path", "body", "word"),
        [
            ("GET", "/nowhere", None, "unknown endpoint"),
            ("PUT", "/repos/octo/calc/issues/1/lock", None, "unknown endpoint"),
            ("GET", "/repos/octo/calc/issues?colour=red", None, "unknown query key 'colour'"),
            ("GET", "/repos/octo/calc/issues?state=ajar", None, "query state='ajar'"),
            ("GET", "/repos/octo/calc/issues?assignee=alice", None, "keys not modelled: assignee"),
            (
                "POST",
                "/repos/octo/calc/issues/1/comments",
                {"body": "x", "boddy": "y"},
                "'boddy' was unexpected",
            ),
            ("POST", "/repos/octo/calc/issues/1/comments", {"text": "x"}, "body"),
            ("PATCH", "/repos/octo/calc/issues/1", {"milestone": 3}, "keys not modelled: milestone"),
            ("POST", "/repos/octo/calc/statuses/SHA", {"state": "fine"}, "is not one of"),
        ],
    )
    def test_what_github_does_not_know_is_a_violation(  # noqa: PLR0913, PLR0917  # a table's columns
        self, hub: GitHub, repo: Repository, token: str, method: str, path: str, body: Any, word: str
    ) -> None:
        repo.open_issue(author="alice", title="Add")
        path = path.replace("SHA", repo.git.sha("main"))
        requests.request(method, hub.api + path, json=body, headers={"Authorization": f"token {token}"}, timeout=5)
        assert len(hub.violations) == 1
        assert word in hub.violations[0]
        hub.violations.clear()

    def test_an_answer_of_the_wrong_shape_is_a_violation(self, hub: GitHub, repo: Repository, remote: Remote) -> None:
        repo.open_issue(author="alice", title="Add").state = "ajar"  # type: ignore[assignment]
        repo.runs[1] = repo.add_run(1)
        repo.runs[1].attempt = "first"  # type: ignore[assignment]
        remote.get_workflow_run(1)
        assert "answer 200" in hub.violations[0]
        hub.violations.clear()

    def test_the_journal_has_every_request(self, hub: GitHub, repo: Repository, remote: Remote, clone: Clone) -> None:
        hub.journal.clear()
        repo.open_issue(author="alice", title="Add")
        remote.get_issue(1).create_comment("hi")
        clone.git("fetch", "-q", "origin", "main")
        seen = [(r.method, r.template, r.login, r.status) for r in hub.journal]
        assert seen[:2] == [
            ("GET", "/repos/{owner}/{repo}/issues/{issue_number}", BOT, 200),
            ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments", BOT, 201),
        ]
        assert hub.journal[1].body == {"body": "hi"}
        assert seen[2][1] == "/octo/calc.git/info/refs?service=git-upload-pack"


class TestEvents:
    def test_a_label(self, repo: Repository, tmp_path: Path) -> None:
        issue = repo.open_issue(author="mallory", title="Add", body="- [ ] x")
        made = repo.label_event(issue, "autobuild", sender="alice")
        payload = made.payload
        assert (made.name, payload["action"], payload["label"]["name"]) == ("issues", "labeled", "autobuild")
        assert (payload["sender"]["login"], payload["issue"]["user"]["login"]) == ("alice", "mallory")
        assert [label["name"] for label in payload["issue"]["labels"]] == ["autobuild"]
        assert payload["repository"]["full_name"] == "octo/calc"
        assert repo.labels_of(1) == ["autobuild"]
        assert made.write(tmp_path / "event.json").stat().st_size > 1000

    def test_a_comment_on_an_issue_and_on_a_pull_request(self, repo: Repository, pull: PullRequest) -> None:
        issue = repo.open_issue(author="alice", title="Add")
        on_issue = repo.comment_event(issue, "/autobuild retry", author="alice").payload
        on_pull = repo.comment_event(pull.number, "/autobuild stop", author="trudy").payload
        assert (on_issue["comment"]["body"], on_issue["issue"]["number"]) == (
            "/autobuild retry",
            issue.number,
        )
        assert "pull_request" not in on_issue["issue"]
        assert on_pull["issue"]["pull_request"]["url"].endswith(f"/pulls/{pull.number}")
        assert on_pull["sender"]["login"] == on_pull["comment"]["user"]["login"] == "trudy"
        assert [c.id for c in repo.comments(pull.number)] == [on_pull["comment"]["id"]]

    def test_a_dispatch(self, repo: Repository) -> None:
        made = repo.dispatch_event(inputs={"issue": "3"}, sender="alice")
        assert (made.name, made.payload["inputs"], made.payload["ref"]) == (
            "workflow_dispatch",
            {"issue": "3"},
            "refs/heads/main",
        )

    def test_no_name_of_the_examples_is_left(self, repo: Repository) -> None:
        issue = repo.open_issue(author="alice", title="Add")
        events = [
            repo.label_event(issue, "autobuild", sender="alice"),
            repo.comment_event(issue, "hi", author="alice"),
            repo.dispatch_event(inputs={}, sender="alice"),
        ]
        for made in events:
            assert "api.github.com/repos" not in str(made.payload)
            assert "Codertocat" not in str(made.payload)

    def test_the_official_examples_are_here_for_the_parser(self) -> None:
        shapes = {
            "issues": "issues-labeled",
            "issue_comment": "issue-comment-created",
            "workflow_dispatch": "workflow-dispatch",
        }
        fit = {
            name: [event(shape).fault(example) is None for example in examples(name)] for name, shape in shapes.items()
        }
        assert {name: (sum(good), len(good)) for name, good in fit.items()} == {
            "issues": (2, 2),
            "issue_comment": (4, 5),
            "workflow_dispatch": (1, 2),
        }


class TestByItself:
    def test_it_starts_from_a_seed_and_ends_when_told(self, tmp_path: Path) -> None:
        seed = tmp_path / "seed.yaml"
        seed.write_text(
            """
            repositories:
              octo/calc:
                files: {README.md: hello}
                roles: {alice: write}
                issues: [{author: alice, title: Add, labels: [autobuild]}]
            tokens: [{login: "github-actions[bot]", repository: octo/calc, permissions: {issues: read}}]
            """
        )
        command = [
            sys.executable,
            "-m",
            "simulators.github",
            "--root",
            str(tmp_path / "hub"),
            "--seed",
            str(seed),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                started = json.loads(process.stdout.readline())
                headers = {"Authorization": f"Bearer {started['tokens'][0]}"}
                url = f"{started['api']}/repos/octo/calc/issues/1"
                issue = requests.get(url, headers=headers, timeout=5).json()
                process.terminate()
                assert process.wait(5) == 0
            finally:
                process.kill()
        assert (issue["title"], issue["labels"][0]["name"]) == ("Add", "autobuild")

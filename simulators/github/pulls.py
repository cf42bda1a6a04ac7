"""Endpoints of pull requests: open, find, change, ask for a review."""

from __future__ import annotations

from typing import Any

from simulators.github import refusals, render
from simulators.github.call import Answer, Call, endpoint
from simulators.github.issues import check_length, listed, may_edit
from simulators.github.repository import Repository
from simulators.github.state import ACTIONS, Pull

Json = Any


@endpoint("pulls/list", "pull_requests")
def list_pulls(call: Call) -> Answer:
    state, base = call.query.get("state", "open"), call.query.get("base")
    owner, _, branch = call.query.get("head", "").partition(":")
    found = [
        pull
        for pull in call.repo.pulls
        if state in (pull.state, "all")
        and base in (None, pull.base)
        # without an owner GitHub ignores the filter
        and (not branch or (pull.head == branch and (pull.fork or call.repo.owner.login).lower() == owner.lower()))
    ]
    return listed(call, found if call.query.get("direction", "desc") == "asc" else found[::-1], render.pull)


@endpoint("pulls/create", "pull_requests")
def create_pull(call: Call) -> Answer:
    repo, body = call.repo, call.body
    if call.user.login == ACTIONS and not repo.actions_may_open_pulls:
        raise refusals.actions_may_not_open_pulls()
    head, base = body["head"].removeprefix(f"{repo.owner.login}:"), body["base"]
    if "title" not in body:
        raise refusals.invalid("PullRequest", "missing_field", "title")
    check_ends(repo, head, base)
    check_length(body.get("body"), "PullRequest")
    if body.get("draft") and not repo.drafts_supported:
        raise refusals.no_drafts()
    made = repo.open_pull(
        author=call.user.login,
        head=head,
        base=base,
        title=body["title"],
        body=body.get("body") or "",
        draft=body.get("draft", False),
    )
    body.get("maintainer_can_modify")  # of forks only
    return Answer(201, render.full_pull(repo, made))


def check_ends(repo: Repository, head: str, base: str) -> None:
    base_sha, head_sha = (repo.git.resolve(f"refs/heads/{branch}") for branch in (base, head))
    if not base_sha or not head_sha:
        raise refusals.invalid("PullRequest", "invalid", "head" if base_sha else "base")
    if any(not pull.fork and (pull.head, pull.base, pull.state) == (head, base, "open") for pull in repo.pulls):
        raise refusals.pull_exists(repo.owner.login, head)
    if not repo.git.commits(base_sha, head_sha):
        raise refusals.no_commits_between(base, head)


@endpoint("pulls/get", "pull_requests")
def get_pull(call: Call) -> Json:
    call.repo.refresh()
    return render.full_pull(call.repo, call.pull)


@endpoint("pulls/update", "pull_requests")
def update_pull(call: Call) -> Json:
    repo, pull, body = call.repo, call.pull, call.body.get("body")
    if pull.user is not call.user and not may_edit(call):
        raise refusals.no_rights()
    repo.refresh()
    check_length(body, "PullRequest")
    state = call.body.get("state")
    if state == "open" and pull.state == "closed":
        check_reopening(repo, pull)
    repo.edit_issue(pull.number, by=call.user.login, title=call.body.get("title"), body=body)
    if state and state != pull.state:
        repo.set_state(pull.number, state, by=call.user.login)
        repo.refresh()
    return render.full_pull(repo, pull)


def check_reopening(repo: Repository, pull: Pull) -> None:
    head = repo.git.resolve(pull.head_ref)
    if head is None or pull.merged_at:
        raise refusals.cannot_reopen(pull.head, "has been deleted")
    if not repo.git.is_ancestor(pull.head_sha, head):
        raise refusals.cannot_reopen(pull.head, "was force-pushed or recreated")


@endpoint("pulls/list-files", "pull_requests")
def list_files(call: Call) -> Answer:
    call.repo.refresh()
    pull = call.pull
    return listed(
        call, list(call.repo.diff_of(pull)), lambda repo, file: render.changed_file(repo, file, pull.head_sha)
    )


@endpoint("pulls/list-requested-reviewers", "pull_requests")
def list_requested_reviewers(call: Call) -> Json:
    return {"users": [render.user(call.hub, user) for user in call.pull.requested_reviewers], "teams": []}


@endpoint("pulls/request-reviewers", "pull_requests", role="write")
def request_reviewers(call: Call) -> Answer:
    pull, repo = call.pull, call.repo
    for login in call.body.get("reviewers", ()):
        user = call.hub.users.get(login)
        if user is None or user.kind == "Bot" or user.login not in repo.roles:
            raise refusals.not_a_collaborator(repo.full_name)
        if user is pull.user:
            raise refusals.reviewer_is_author()
        if user not in pull.requested_reviewers:
            pull.requested_reviewers.append(user)
    return Answer(201, render.pull(repo, pull))

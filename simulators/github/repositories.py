"""Endpoints of the repository itself: people, commits, statuses, refs, runs."""

from __future__ import annotations

from typing import Any

from simulators.github import refusals, render
from simulators.github.call import Answer, Call, endpoint
from simulators.github.issues import listed
from simulators.github.state import Role, Status

Json = Any
# Two older words for six roles (GitHub's documentation of collaborators/permission).
PERMISSION: dict[Role, str] = {"maintain": "write", "triage": "read"}


@endpoint("users/get-authenticated")
def get_user(call: Call) -> Json:
    """403 for every token of an App (hmarr/auto-approve-action#191)."""
    if call.user.kind == "Bot":
        raise refusals.not_accessible()
    return render.user(call.hub, call.user) | {"user_view_type": "public"}


@endpoint("rate-limit/get")
def get_rate_limit(call: Call) -> Json:
    rate = {"limit": 5000, "remaining": 4999, "used": 1, "reset": int(call.hub.now().timestamp()) + 3600}
    return {"resources": {"core": rate, "search": rate, "graphql": rate}, "rate": rate}


@endpoint("repos/get")
def get_repository(call: Call) -> Json:
    return render.repository(call.repo)


@endpoint("repos/get-collaborator-permission-level")
def get_permission(call: Call) -> Json:
    user = call.hub.users.get(call.parameters["username"])
    if user is None:
        raise refusals.not_found()
    if user.kind == "Bot":
        raise refusals.not_a_user(user.login)
    role = call.repo.role_of(user)
    return {
        "permission": PERMISSION.get(role, role),
        "role_name": role,
        "user": render.user(call.hub, user) | {"role_name": role},
    }


@endpoint("repos/create-commit-status", "statuses", role="write")
def create_status(call: Call) -> Answer:
    sha, body = call.parameters["sha"], call.body
    if len(body.get("description") or "") > refusals.MAXIMUM_DESCRIPTION:
        raise refusals.description_too_long()
    if call.repo.git.resolve(sha) != sha:
        raise refusals.Refusal(422, f"No commit found for SHA: {sha}")
    made = Status(
        sha=sha,
        state=body["state"],
        context=body.get("context", "default"),
        description=body.get("description"),
        target_url=body.get("target_url"),
        creator=call.user,
        **call.hub.thing(),
    )
    call.repo.status_list.append(made)
    return Answer(201, render.status(call.repo, made))


@endpoint("repos/list-commit-statuses-for-ref", "statuses")
def list_statuses(call: Call) -> Answer:
    return listed(call, call.repo.statuses(the_commit(call)), render.status)


@endpoint("repos/get-combined-status-for-ref", "statuses")
def get_combined_status(call: Call) -> Json:
    sha, latest = the_commit(call), dict[str, Status]()
    for status in reversed(call.repo.statuses(sha)):
        latest[status.context.lower()] = status  # contexts differ by more than case
    page, headers = call.page(list(latest.values()))
    return Answer(
        200,
        {
            "state": combined({status.state for status in latest.values()}),
            "sha": sha,
            "total_count": len(latest),
            "statuses": [render.status(call.repo, status) for status in page],
            "repository": render.repository(call.repo),
            "commit_url": f"{render.api(call.repo)}/commits/{sha}",
            "url": f"{render.api(call.repo)}/commits/{sha}/status",
        },
        headers,
    )


def combined(states: set[str]) -> str:
    if states & {"error", "failure"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


@endpoint("repos/get-commit", "contents")
def get_commit(call: Call) -> Json:
    repo, sha = call.repo, the_commit(call)
    shown = render.commit(repo, sha)
    files = repo.git.diff(shown["parents"][0]["sha"], sha) if shown["parents"] else ()
    page, headers = call.page(files)
    return Answer(200, shown | {"files": [render.changed_file(repo, file, sha) for file in page]}, headers)


@endpoint("repos/compare-commits-with-basehead", "contents")
def compare(call: Call) -> Json:
    """base...head: how far apart, the commits and the files of the head's side."""
    repo, git = call.repo, call.repo.git
    base, head = (git.resolve(end) for end in call.parameters["basehead"].split("...", 1))
    start = git.merge_base(base, head) if base and head else None
    if base is None or head is None or start is None:
        raise refusals.not_found()
    ahead, behind = git.commits(base, head), git.commits(head, base)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    page, headers = call.page(ahead)
    return Answer(
        200,
        {
            "status": status,
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "base_commit": render.commit(repo, base),
            "merge_base_commit": render.commit(repo, start),
            "commits": [render.commit(repo, sha) for sha in page],
            "files": [render.changed_file(repo, file, head) for file in git.diff(base, head)],
        },
        headers,
    )


@endpoint("git/get-ref", "contents")
def get_ref(call: Call) -> Json:
    ref = f"refs/{call.parameters['ref']}"
    sha = call.repo.git.refs(ref).get(ref)
    if sha is None:
        raise refusals.not_found()
    return render.reference(call.repo, ref, sha)


@endpoint("git/list-matching-refs", "contents")
def list_matching_refs(call: Call) -> Json:
    prefix = f"refs/{call.parameters['ref']}"
    return [
        render.reference(call.repo, ref, sha) for ref, sha in call.repo.git.refs().items() if ref.startswith(prefix)
    ]


@endpoint("git/create-ref", "contents", role="write")
def create_ref(call: Call) -> Answer:
    ref, sha = call.body["ref"], call.body["sha"]
    if call.repo.git.refs(ref).get(ref):
        raise refusals.reference_exists()
    if call.repo.git.resolve(sha) != sha:
        raise refusals.Refusal(422, "Object does not exist")
    call.repo.git("update-ref", ref, sha)
    return Answer(201, render.reference(call.repo, ref, sha))


@endpoint("actions/get-workflow-run", "actions")
def get_run(call: Call) -> Json:
    run = call.repo.runs.get(int(call.parameters["run_id"]))
    if run is None:
        raise refusals.not_found()
    return render.run(call.repo, run)


def the_commit(call: Call) -> str:
    found = call.repo.git.resolve(call.parameters["ref"])
    if found is None:
        raise refusals.Refusal(422, f"No commit found for SHA: {call.parameters['ref']}")
    return found

"""Endpoints of issues: texts, comments, labels, reactions. Pull requests are issues too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from simulators.github import refusals, render
from simulators.github.call import Answer, Call, endpoint
from simulators.github.state import Comment, Issue, Label, Reaction, Written

BOTH = ("issues", "pull_requests")
Json = Any


@endpoint("issues/get", *BOTH)
def get_issue(call: Call) -> Json:
    return render.issue(call.repo, call.issue)


@endpoint("issues/list-for-repo", *BOTH)
def list_issues(call: Call) -> Answer:
    state, labels = call.query.get("state", "open"), call.query.get("labels", "")
    wanted = {name.lower() for name in labels.split(",") if name}
    found = [
        issue
        for issue in reversed(call.repo.issues.values())
        if state in (issue.state, "all") and wanted <= {label.name.lower() for label in issue.labels}
    ]
    return listed(call, since(call, found), render.issue)


@endpoint("issues/update", *BOTH)
def update_issue(call: Call) -> Json:
    issue, body = call.issue, call.body.get("body")
    if issue.user is not call.user and not may_edit(call):
        raise refusals.no_rights()
    check_length(body, "Issue")
    call.repo.edit_issue(issue.number, by=call.user.login, title=call.body.get("title"), body=body)
    state, reason = call.body.get("state"), call.body.get("state_reason")
    if state and state != issue.state:
        call.repo.set_state(issue.number, state, by=call.user.login, reason=reason)
    return render.issue(call.repo, issue)


@endpoint("issues/list-comments", *BOTH)
def list_comments(call: Call) -> Answer:
    return listed(call, since(call, call.issue.comments), render.comment)


@endpoint("issues/create-comment", *BOTH)
def create_comment(call: Call) -> Answer:
    body = call.body["body"]
    check_length(body, "IssueComment")
    if not body.strip():
        raise refusals.invalid("IssueComment", "missing_field", "body")
    made = call.repo.comment(call.issue.number, body, author=call.user.login)
    return Answer(201, render.comment(call.repo, made))


@endpoint("issues/get-comment", *BOTH)
def get_comment(call: Call) -> Json:
    return render.comment(call.repo, the_comment(call))


@endpoint("issues/update-comment", *BOTH)
def update_comment(call: Call) -> Json:
    comment = own_comment(call)
    check_length(call.body["body"], "IssueComment")
    comment.edit(call.body["body"], call.hub.now())
    return render.comment(call.repo, comment)


@endpoint("issues/delete-comment", *BOTH)
def delete_comment(call: Call) -> Answer:
    comment = own_comment(call)
    call.repo.comments(comment.number).remove(comment)
    return Answer(204)


@endpoint("issues/add-labels", *BOTH, role="triage")
def add_labels(call: Call) -> Answer:
    for name in call.body["labels"]:
        call.repo.add_label(call.issue, name if isinstance(name, str) else name["name"])
    return Answer(200, labels(call))


@endpoint("issues/remove-label", *BOTH, role="triage")
def remove_label(call: Call) -> Answer:
    name = call.parameters["name"]
    if name.lower() not in {label.name.lower() for label in call.issue.labels}:
        raise refusals.label_absent()
    call.repo.remove_label(call.issue, name)
    return Answer(200, labels(call))


@endpoint("issues/list-labels-on-issue", *BOTH)
def list_labels(call: Call) -> Answer:
    return listed(call, call.issue.labels, render.label)


@endpoint("issues/list-labels-for-repo", *BOTH)
def list_repository_labels(call: Call) -> Answer:
    return listed(call, list(call.repo.labels.values()), render.label)


@endpoint("issues/create-label", *BOTH, role="write")
def create_label(call: Call) -> Answer:
    name, color = call.body["name"], call.body.get("color", "ededed")
    if name.lower() in call.repo.labels:
        raise refusals.invalid("Label", "already_exists", "name")
    made: Label = call.repo.label(name, color, call.body.get("description"))
    return Answer(201, render.label(call.repo, made))


@endpoint("issues/get-label", *BOTH)
def get_label(call: Call) -> Json:
    label = call.repo.labels.get(call.parameters["name"].lower())
    if label is None:
        raise refusals.not_found()
    return render.label(call.repo, label)


@endpoint("reactions/create-for-issue", *BOTH)
def react_to_issue(call: Call) -> Answer:
    return react(call, call.issue)


@endpoint("reactions/create-for-issue-comment", *BOTH)
def react_to_comment(call: Call) -> Answer:
    return react(call, the_comment(call))


@endpoint("reactions/list-for-issue", *BOTH)
def list_issue_reactions(call: Call) -> Answer:
    return listed(call, call.issue.reactions, render.reaction)


@endpoint("reactions/list-for-issue-comment", *BOTH)
def list_comment_reactions(call: Call) -> Answer:
    return listed(call, the_comment(call).reactions, render.reaction)


def react(call: Call, written: Written) -> Answer:
    """201 when new, 200 when that person had it there already."""
    content = call.body["content"]
    for reaction in written.reactions:
        if reaction.user is call.user and reaction.content == content:
            return Answer(200, render.reaction(call.repo, reaction))
    made = Reaction(user=call.user, content=content, **call.hub.thing())
    written.reactions.append(made)
    return Answer(201, render.reaction(call.repo, made))


def listed(call: Call, items: list[Any], rendered: Callable[..., Json]) -> Answer:
    """One page of a list."""
    page, headers = call.page(items)
    return Answer(200, [rendered(call.repo, item) for item in page], headers)


def since(call: Call, items: list[Any]) -> list[Any]:
    """Those touched at or after `since`, if that was asked."""
    asked = call.query.get("since")
    return [item for item in items if item.updated_at >= datetime.fromisoformat(asked)] if asked else items


def labels(call: Call) -> list[Json]:
    return [render.label(call.repo, label) for label in call.issue.labels]


def all_comments(issues: dict[int, Issue]) -> Iterator[Comment]:
    for issue in issues.values():
        yield from issue.comments


def the_comment(call: Call) -> Comment:
    wanted = int(call.parameters["comment_id"])
    for comment in all_comments(call.repo.issues):
        if comment.id == wanted:
            return comment
    raise refusals.not_found()


def own_comment(call: Call) -> Comment:
    """The comment, if the caller may change it: its author, or who may write."""
    comment = the_comment(call)
    if comment.user is not call.user and not may_edit(call):
        raise refusals.no_rights()
    return comment


def may_edit(call: Call) -> bool:
    return call.token is not None and (call.token.permissions is not None or call.repo.allows(call.user, "write"))


def check_length(body: str | None, resource: str) -> None:
    if len(body or "") > refusals.MAXIMUM_BODY:
        raise refusals.body_too_long(resource)

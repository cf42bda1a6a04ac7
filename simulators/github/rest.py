"""One REST request: find the operation, check who may, check both shapes, let the endpoint do it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl, unquote

from simulators.github import issues, pulls, refusals, repositories, reviews  # noqa: F401  # they register their endpoints
from simulators.github.call import ENDPOINTS, Answer, Call, Endpoint, Read
from simulators.github.descriptions import Operation, Shape, complete, route
from simulators.github.refusals import Refusal
from simulators.github.state import Pull

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.state import Token

Json = Any
# The older address of a commit's statuses: undocumented today, still answered, and the one PyGithub asks.
OLD_STATUSES = re.compile(r"^(/repos/[^/]+/[^/]+)/statuses/([^/]+)$")


def answer(hub: GitHub, method: str, target: str, body: Json, token: Token | None) -> Answer:
    """One request, from its line to its answer; what GitHub has no description of is a violation."""
    path, _, query = target.partition("?")
    found = route(
        method,
        OLD_STATUSES.sub(r"\1/commits/\2/statuses", unquote(path)) if method == "GET" else unquote(path),
    )
    if found is None or found[0].id not in ENDPOINTS:
        hub.violations.append(f"{method} {path}: unknown endpoint, or not modelled")
        return Answer(404, refusals.not_found().body)
    operation, parameters = found
    call = Call(hub, operation, token, parameters, Read({}), Read({}))
    try:
        call.query = Read(dict(_query(operation, query, call)))
        call.body = Read(_body(operation, body, call))
        _check_access(call, ENDPOINTS[operation.id])
        result = _finished(call, ENDPOINTS[operation.id].handler(call))
    except Refusal as refusal:
        result = Answer(refusal.status, refusal.body)
    result.template = operation.template
    return result


def _violation(call: Call, why: str) -> None:
    call.hub.violations.append(f"{call.operation.method} {call.operation.template}: {why}")


def _refuse_shape(call: Call, why: str) -> NoReturn:
    _violation(call, why)
    raise refusals.invalid_request(why)


def _query(operation: Operation, text: str, call: Call) -> Iterator[tuple[str, Any]]:
    for name, sent in parse_qsl(text, keep_blank_values=True):
        shape = operation.query.get(name)
        if shape is None:
            _refuse_shape(call, f"unknown query key {name!r}")
        value = int(sent) if shape.schema.get("type") == "integer" and sent.isdigit() else sent
        fault = shape.fault(value)
        if fault:
            _refuse_shape(call, f"query {name}={sent!r}: {fault}")
        yield name, value


def _body(operation: Operation, body: Json, call: Call) -> Json:
    if operation.body is None:
        if body is not None:
            _refuse_shape(call, "a body where none is taken")
        return {}
    if body is None:
        if operation.body_required:
            _refuse_shape(call, "a body is required")
        return {}
    # GitHub's prose allows a bare array of labels, its schema doesn't, PyGithub sends one.
    wrapped = {"labels": body} if isinstance(body, list) and operation.id == "issues/add-labels" else body
    fault = operation.body.fault(wrapped)
    if fault:
        _refuse_shape(call, f"body: {fault}")
    return wrapped


def _check_access(call: Call, wanted: Endpoint) -> None:
    """Token permissions as for an installation, roles as for a person; everybody reads what is public."""
    reads = call.operation.method == "GET"
    if call.token is None:
        if not reads or "owner" not in call.parameters:
            raise refusals.requires_authentication()
        return
    if "owner" not in call.parameters:
        return
    repo = call.repo
    if call.token.permissions is None:
        if not repo.allows(call.user, wanted.role):
            raise refusals.no_rights()
        return
    if (reads and not repo.private) or not wanted.scopes:
        return
    level, scopes = "read" if reads else "write", scopes_for(call, wanted)
    if call.token.repository is not repo or not any(call.token.grants(scope, level) for scope in scopes):
        raise refusals.not_accessible()


def scopes_for(call: Call, wanted: Endpoint) -> tuple[str, ...]:
    """On a pull request either permission will do, on an issue only its own."""
    on_issue = "issue_number" in call.parameters and not isinstance(call.issue, Pull)
    return ("issues",) if on_issue else wanted.scopes


def _finished(call: Call, result: Answer | Json) -> Answer:
    """The endpoint's answer completed and checked, with a word about each key that it ignored."""
    done = result if isinstance(result, Answer) else Answer(200, result)
    unread = sorted(call.query.unread | call.body.unread)
    if unread:
        _violation(call, f"keys not modelled: {', '.join(unread)}")
    shape: Shape | None = call.operation.answers.get(str(done.status))
    if str(done.status) not in call.operation.answers:
        _violation(call, f"answers {done.status}, which GitHub doesn't")
    if shape is not None:
        done.body = complete(shape.schema, done.body, call.hub.origin)
        fault = shape.fault(done.body)
        if fault:
            _violation(call, f"answer {done.status}: {fault}")
    return done

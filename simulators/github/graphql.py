"""The GraphQL endpoint: GitHub's schema, executed over the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from graphql import (
    GraphQLError,
    GraphQLResolveInfo,
    GraphQLSchema,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from simulators.github import render
from simulators.github.call import Answer
from simulators.github.descriptions import DATA
from simulators.github.repository import Repository
from simulators.github.reviews import reply
from simulators.github.state import (
    Comment,
    Issue,
    Label,
    Pull,
    Rename,
    Review,
    ReviewComment,
    Thing,
    Thread,
    User,
    Written,
)

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.state import Token

Json = Any
MAXIMUM_PAGE = 100


@dataclass(frozen=True)
class Asker:
    """The context of a query."""

    hub: GitHub
    token: Token


@dataclass(frozen=True)
class Connection:
    """One page of a list."""

    nodes: Sequence[Any]
    total: int
    start: int


class Viewer(User):
    """The asker; unlike any other actor a bot keeps its `[bot]` here (fullsend-ai/fullsend#1953)."""


Resolver = Callable[..., Any]
RESOLVERS: dict[str, Resolver] = {}


def resolves(*fields: str) -> Callable[[Resolver], Resolver]:
    def register(resolver: Resolver) -> Resolver:
        RESOLVERS.update(dict.fromkeys(fields, resolver))
        return resolver

    return register


@cache
def schema() -> GraphQLSchema:
    return build_schema((DATA / "schema.graphql").read_text(), assume_valid=True)


def answer(hub: GitHub, body: Json, token: Token | None) -> Answer:
    if token is None:
        return Answer(401, {"message": "This endpoint requires you to be authenticated.", "status": "401"})
    try:
        document = parse(body["query"])
        faults = validate(schema(), document)
    except GraphQLError as error:
        faults = [error]
    if faults:
        hub.violations += [f"POST /graphql: {fault.message}" for fault in faults]
        return Answer(200, {"errors": [{"message": fault.message} for fault in faults]})
    result = execute_sync(
        schema(), document, context_value=Asker(hub, token), variable_values=body.get("variables") or {},
        operation_name=body.get("operationName"), field_resolver=_field, type_resolver=_type,
    )  # fmt: skip
    errors = [
        {"type": (e.extensions or {}).get("type"), "path": e.path, "message": e.message}
        for e in result.errors or ()
    ]
    return Answer(200, {"data": result.data, **({"errors": errors} if errors else {})})


def _field(source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
    """By `Type.field`, else by the field's name alone; a field that nobody modelled is a violation."""
    name = info.field_name
    resolver = RESOLVERS.get(f"{info.parent_type.name}.{name}") or RESOLVERS.get(name)
    if isinstance(source, dict) and name in source:
        return source[name]
    if resolver is None:
        info.context.hub.violations.append(f"POST /graphql: {info.parent_type.name}.{name} is not modelled")
        raise GraphQLError(f"{info.parent_type.name}.{name} is not modelled")
    return resolver(source, info, **arguments)


def _type(value: Any, *_: Any) -> str:
    names = {
        Rename: "RenamedTitleEvent",
        Comment: "IssueComment",
        Pull: "PullRequest",
        Review: "PullRequestReview",
    }
    names |= {ReviewComment: "PullRequestReviewComment", Thread: "PullRequestReviewThread"}
    return value.kind if isinstance(value, User) else names.get(type(value), type(value).__name__)


def refused(kind: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": kind})


def demand(info: GraphQLResolveInfo, repo: Repository, *scopes: str) -> None:
    """cli/cli#8910: the words are those of REST."""
    token: Token = info.context.token
    if token.permissions is None:
        allowed = repo.allows(token.user, "write")
    else:
        allowed = token.repository is repo and all(token.grants(scope, "write") for scope in scopes)
    if not allowed:
        raise refused("FORBIDDEN", "Resource not accessible by integration")


def page(info: GraphQLResolveInfo, items: Sequence[Any], arguments: Mapping[str, Any]) -> Connection:
    """Forward or backward; GitHub wants one of both, and at most 100."""
    first, last, name = arguments.get("first"), arguments.get("last"), info.field_name
    if first is None and last is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise refused("MISSING_PAGINATION_BOUNDARIES", message)
    if max(first or 0, last or 0) > MAXIMUM_PAGE:
        kind, message = (
            "EXCESSIVE_PAGINATION",
            f"Requesting {first or last} records on the `{name}` connection exceeds",
        )
        raise refused(
            kind, f"{message} the `{'first' if first else 'last'}` limit of {MAXIMUM_PAGE} records."
        )
    unmodelled = arguments.keys() - {"first", "last", "after", "before", "itemTypes", "orderBy"}
    if unmodelled:
        info.context.hub.violations.append(
            f"POST /graphql: arguments of {name} not modelled: {sorted(unmodelled)}"
        )
    start, end = int(arguments.get("after") or 0), int(arguments.get("before") or len(items) + 1) - 1
    end = min(end, len(items))
    if first is not None:
        end = min(end, start + first)
    if last is not None:
        start = max(start, end - last)
    return Connection(items[start:end], len(items), start)


@resolves("nodes")
def nodes(connection: Connection, _: GraphQLResolveInfo) -> Sequence[Any]:
    return connection.nodes


@resolves("totalCount")
def total_count(connection: Connection, _: GraphQLResolveInfo) -> int:
    return connection.total


@resolves("pageInfo")
def page_info(connection: Connection, _: GraphQLResolveInfo) -> Json:
    start, end = connection.start, connection.start + len(connection.nodes)
    cursors = (
        {"startCursor": str(start + 1), "endCursor": str(end)}
        if connection.nodes
        else {"startCursor": None, "endCursor": None}
    )
    return {"hasNextPage": end < connection.total, "hasPreviousPage": start > 0, **cursors}


@resolves("Query.viewer")
def viewer(_: None, info: GraphQLResolveInfo) -> User:
    user: User = info.context.token.user
    return Viewer(id=user.id, created_at=user.created_at, login=user.login, kind=user.kind)


@resolves("Query.repository")
def repository(_: None, info: GraphQLResolveInfo, owner: str, name: str, **__: Any) -> Repository:
    repo, token = info.context.hub.find(f"{owner}/{name}"), info.context.token
    installed = token.permissions is not None and token.repository is repo
    if repo is None or (repo.private and not installed and not repo.allows(token.user, "read")):
        raise refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
    repo.refresh()
    return repo


@resolves("Query.node")
def node(_: None, info: GraphQLResolveInfo, id: str) -> Thing:  # noqa: A002  # GitHub's word
    return by_id(info, id)[1]


def everything(repo: Repository) -> Iterator[Thing]:
    yield repo
    yield from repo.written()
    for pull in repo.pulls:
        yield from pull.threads


def by_id(info: GraphQLResolveInfo, node_id: str) -> tuple[Repository, Any]:
    for repo in info.context.hub.repositories.values():
        for thing in everything(repo):
            if thing.node_id == node_id:
                return repo, thing
    raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")


def home(info: GraphQLResolveInfo, thing: Thing) -> Repository:
    return by_id(info, thing.node_id)[0]


@resolves("Repository.issue")
def issue(repo: Repository, info: GraphQLResolveInfo, number: int) -> Issue:
    found = repo.issues.get(number)
    if found is None or isinstance(found, Pull):
        raise refused("NOT_FOUND", f"Could not resolve to an Issue with the number of {number}.")
    return found


@resolves("Repository.pullRequest")
def pull_request(repo: Repository, info: GraphQLResolveInfo, number: int) -> Pull:
    found = repo.issues.get(number)
    if not isinstance(found, Pull):
        raise refused("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
    return found


@resolves("Repository.nameWithOwner")
def name_with_owner(repo: Repository, _: GraphQLResolveInfo) -> str:
    return repo.full_name


@resolves("User.login", "Bot.login", "Actor.login")
def login(user: User, _: GraphQLResolveInfo) -> str:
    """A bot's login has no `[bot]` here, other than in REST (anthropics/claude-code-action#1514)."""
    return user.login if isinstance(user, Viewer) else user.login.removesuffix("[bot]")


@resolves("author")
def author(written: Written, _: GraphQLResolveInfo) -> User:
    return written.user


@resolves("RenamedTitleEvent.actor")
def actor(rename: Rename, _: GraphQLResolveInfo) -> User:
    return rename.user


@resolves("url")
def url(thing: Thing, info: GraphQLResolveInfo) -> str:
    """The page of a thing, as REST's `html_url`."""
    repo = home(info, thing)
    match thing:
        case Issue():
            return render.html(repo, thing)
        case Comment():
            return str(render.comment(repo, thing)["html_url"])
        case _:
            return repo.url


def attribute(name: str) -> Resolver:
    return lambda source, _: getattr(source, name)


def moment(name: str) -> Resolver:
    return lambda source, _: render.time(getattr(source, name))


PLAIN = {
    "id": "node_id", "databaseId": "id", "body": "body", "title": "title", "number": "number", "name": "name", "path": "path",
    "isDraft": "draft", "headRefName": "head", "baseRefName": "base", "headRefOid": "head_sha", "baseRefOid": "base_sha",
    "previousTitle": "previous", "currentTitle": "current", "color": "color", "description": "description",
    "resolvedBy": "resolved_by", "replyTo": "in_reply_to", "pullRequestReview": "review", "diffHunk": "hunk",
    "originalLine": "line", "isPrivate": "private",
}  # fmt: skip
MOMENTS = {
    "createdAt": "created_at", "updatedAt": "updated_at", "lastEditedAt": "last_edited_at", "closedAt": "closed_at",
    "mergedAt": "merged_at", "submittedAt": "submitted_at",
}  # fmt: skip
RESOLVERS |= {field: attribute(name) for field, name in PLAIN.items()} | {
    field: moment(name) for field, name in MOMENTS.items()
}
RESOLVERS["PullRequestReview.state"] = attribute("state")


@resolves("state")
def state(issue: Issue, _: GraphQLResolveInfo) -> str:
    return "MERGED" if isinstance(issue, Pull) and issue.merged_at else issue.state.upper()


@resolves("closed")
def closed(issue: Issue, _: GraphQLResolveInfo) -> bool:
    return issue.state == "closed"


@resolves("merged")
def merged(pull: Pull, _: GraphQLResolveInfo) -> bool:
    return pull.merged_at is not None


@resolves("isMinimized")
def is_minimized(written: Written, _: GraphQLResolveInfo) -> bool:
    return written.minimized is not None


@resolves("minimizedReason")
def minimized_reason(written: Written, _: GraphQLResolveInfo) -> str | None:
    return written.minimized.lower() if written.minimized else None


@resolves("isResolved")
def is_resolved(thread: Thread, _: GraphQLResolveInfo) -> bool:
    return thread.resolved_by is not None


@resolves("Issue.comments", "PullRequest.comments", "PullRequestReviewThread.comments")
def comments(source: Issue | Thread, info: GraphQLResolveInfo, **arguments: Any) -> Connection:
    return page(info, source.comments, arguments)


@resolves("labels")
def labels(issue: Issue, info: GraphQLResolveInfo, **arguments: Any) -> Connection:
    return page(info, issue.labels, arguments)


@resolves("reviews")
def reviews(pull: Pull, info: GraphQLResolveInfo, **arguments: Any) -> Connection:
    return page(info, pull.reviews, arguments)


@resolves("reviewThreads")
def review_threads(pull: Pull, info: GraphQLResolveInfo, **arguments: Any) -> Connection:
    return page(info, pull.threads, arguments)


@resolves("timelineItems")
def timeline_items(issue: Issue, info: GraphQLResolveInfo, **arguments: Any) -> Connection:
    """Changes of the title only; another type asked for is not modelled."""
    if arguments.get("itemTypes") != ["RENAMED_TITLE_EVENT"]:
        info.context.hub.violations.append(
            "POST /graphql: timelineItems other than RENAMED_TITLE_EVENT are not modelled"
        )
    return page(info, issue.renames, arguments)


@resolves("isOutdated", "outdated")
def is_outdated(source: Thread | ReviewComment, info: GraphQLResolveInfo) -> bool:
    repo, comment = home(info, source), source.comments[0] if isinstance(source, Thread) else source
    pull = next(pull for pull in repo.pulls if comment in pull.review_comments)
    return render.outdated(repo, pull, comment)


@resolves("line")
def line(source: Thread | ReviewComment, info: GraphQLResolveInfo) -> int | None:
    comment = source.comments[0] if isinstance(source, Thread) else source
    return None if is_outdated(source, info) else comment.line


@resolves("PullRequestReviewThread.path")
def thread_path(thread: Thread, _: GraphQLResolveInfo) -> str:
    return thread.comments[0].path


@resolves("clientMutationId")
def client_mutation_id(_: Any, info: GraphQLResolveInfo) -> None:
    return None


Input = Mapping[str, Any]


def draft(info: GraphQLResolveInfo, values: Input, *, wanted: bool) -> Json:
    """Both permissions are needed (cli/cli#8910, open-telemetry/opentelemetry-collector-contrib#50226)."""
    repo, pull = by_id(info, values["pullRequestId"])
    demand(info, repo, "pull_requests", "contents")
    pull.draft, pull.updated_at = wanted, repo.hub.now()
    return {"pullRequest": pull, "clientMutationId": values.get("clientMutationId")}


@resolves("markPullRequestReadyForReview")
def mark_ready(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    return draft(info, input, wanted=False)


@resolves("convertPullRequestToDraft")
def convert_to_draft(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    return draft(info, input, wanted=True)


@resolves("minimizeComment")
def minimize(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    repo, comment = by_id(info, input["subjectId"])
    demand(info, repo, "pull_requests" if isinstance(comment, ReviewComment | Review) else "issues")
    comment.minimized = input["classifier"]
    return {"minimizedComment": comment, "clientMutationId": input.get("clientMutationId")}


@resolves("resolveReviewThread")
def resolve_thread(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    repo, thread = by_id(info, input["threadId"])
    demand(info, repo, "pull_requests", "contents")
    thread.resolved_by = info.context.token.user
    return {"thread": thread, "clientMutationId": input.get("clientMutationId")}


@resolves("unresolveReviewThread")
def unresolve_thread(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    repo, thread = by_id(info, input["threadId"])
    demand(info, repo, "pull_requests", "contents")
    thread.resolved_by = None
    return {"thread": thread, "clientMutationId": input.get("clientMutationId")}


@resolves("addPullRequestReviewThreadReply")
def add_reply(_: None, info: GraphQLResolveInfo, input: Input) -> Json:  # noqa: A002  # GitHub's word
    repo, thread = by_id(info, input["pullRequestReviewThreadId"])
    demand(info, repo, "pull_requests")
    made = reply(repo.hub, thread, info.context.token.user, input["body"])
    return {"comment": made, "clientMutationId": input.get("clientMutationId")}

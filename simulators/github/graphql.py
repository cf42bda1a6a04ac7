"""The GraphQL endpoint: GitHub's schema, executed over the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from graphql import (
    DocumentNode,
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
from simulators.github.state import Comment, Issue, Pull, Rename, Review, ReviewComment, Thing, Thread, User

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.state import Token

    Info = GraphQLResolveInfo["Asker"]

Json = Any
Resolver = Callable[..., Any]
MAXIMUM_PAGE = 100
PAGING = {"first", "last", "after", "before", "itemTypes"}
TYPE_NAMES: dict[type, str] = {
    Comment: "IssueComment",
    Pull: "PullRequest",
    Rename: "RenamedTitleEvent",
    Review: "PullRequestReview",
    ReviewComment: "PullRequestReviewComment",
    Thread: "PullRequestReviewThread",
}


@dataclass(frozen=True)
class Asker:
    """The context of a query."""

    hub: GitHub
    token: Token


@dataclass(frozen=True)
class Page:
    """One page of a connection."""

    nodes: Sequence[Any]
    total: int
    start: int

    @property
    def info(self) -> Json:
        end = self.start + len(self.nodes)
        return {
            "hasNextPage": end < self.total,
            "hasPreviousPage": self.start > 0,
            "startCursor": str(self.start + 1) if self.nodes else None,
            "endCursor": str(end) if self.nodes else None,
        }


class Viewer(User):
    """The asker; unlike any other actor a bot keeps its `[bot]` here (fullsend-ai/fullsend#1953)."""


# One request


@cache
def schema() -> GraphQLSchema:
    return build_schema((DATA / "schema.graphql").read_text(), assume_valid=True)


def answer(hub: GitHub, body: Json, token: Token | None) -> Answer:
    if token is None:
        return Answer(401, {"message": "This endpoint requires you to be authenticated.", "status": "401"})
    document, faults = parsed(body["query"])
    if document is None:
        hub.violations += [f"POST /graphql: {fault.message}" for fault in faults]
        return Answer(200, {"errors": [{"message": fault.message} for fault in faults]})
    result = execute_sync(
        schema(),
        document,
        context_value=Asker(hub, token),
        variable_values=body.get("variables") or {},
        operation_name=body.get("operationName"),
        field_resolver=resolve,
        type_resolver=lambda value, *_: type_name(value),
    )
    errors = [error_body(hub, error) for error in result.errors or ()]
    return Answer(200, {"data": result.data, **({"errors": errors} if errors else {})})


def parsed(query: str) -> tuple[DocumentNode | None, Sequence[GraphQLError]]:
    try:
        document = parse(query)
    except GraphQLError as error:
        return None, [error]
    faults = validate(schema(), document)
    return (None, faults) if faults else (document, ())


def error_body(hub: GitHub, error: GraphQLError) -> Json:
    """What GitHub refuses has a type; anything else is a field or variable that it, or we, don't know."""
    kind = (error.extensions or {}).get("type")
    if kind is None:
        hub.violations.append(f"POST /graphql: {error.message}")
    return {"type": kind, "path": error.path, "message": error.message}


def resolve(source: Any, info: Info, **arguments: Any) -> Any:
    """By `Type.field`, else by the field's name alone."""
    if isinstance(source, dict) and info.field_name in source:
        return source[info.field_name]
    for name in (f"{info.parent_type.name}.{info.field_name}", info.field_name):
        if name in VALUES:
            return VALUES[name](source)
        if name in RESOLVERS:
            return RESOLVERS[name](source, info, **arguments)
    raise GraphQLError(f"{info.parent_type.name}.{info.field_name} is not modelled")


def type_name(value: Any) -> str:
    return value.kind if isinstance(value, User) else TYPE_NAMES.get(type(value), type(value).__name__)


def refused(kind: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": kind})


# Fields that only look at their object


def moment(name: str) -> Callable[[Any], str | None]:
    return lambda source: render.time(getattr(source, name))


def first_comment(source: Thread | ReviewComment) -> ReviewComment:
    return source.comments[0] if isinstance(source, Thread) else source


def issue_state(issue: Issue) -> str:
    return "MERGED" if isinstance(issue, Pull) and issue.merged_at else issue.state.upper()


def login(user: User) -> str:
    """A bot's login has no `[bot]` here, other than in REST (anthropics/claude-code-action#1514)."""
    return user.login if isinstance(user, Viewer) else user.login.removesuffix("[bot]")


VALUES: dict[str, Callable[[Any], Any]] = {
    "author": attrgetter("user"),
    "baseRefName": attrgetter("base"),
    "baseRefOid": attrgetter("base_sha"),
    "body": attrgetter("body"),
    "closed": lambda issue: issue.state == "closed",
    "closedAt": moment("closed_at"),
    "createdAt": moment("created_at"),
    "databaseId": attrgetter("id"),
    "diffHunk": attrgetter("hunk"),
    "headRefName": attrgetter("head"),
    "headRefOid": attrgetter("head_sha"),
    "id": attrgetter("node_id"),
    "isDraft": attrgetter("draft"),
    "isMinimized": lambda written: written.minimized is not None,
    "isResolved": lambda thread: thread.resolved_by is not None,
    "lastEditedAt": moment("last_edited_at"),
    "login": login,
    "merged": lambda pull: pull.merged_at is not None,
    "mergedAt": moment("merged_at"),
    "minimizedReason": lambda written: written.minimized and written.minimized.lower(),
    "name": attrgetter("name"),
    "nodes": attrgetter("nodes"),
    "number": attrgetter("number"),
    "originalLine": lambda source: first_comment(source).line,
    "pageInfo": attrgetter("info"),
    "path": lambda source: first_comment(source).path,
    "replyTo": attrgetter("in_reply_to"),
    "resolvedBy": attrgetter("resolved_by"),
    "state": issue_state,
    "submittedAt": moment("submitted_at"),
    "title": attrgetter("title"),
    "totalCount": attrgetter("total"),
    "updatedAt": moment("updated_at"),
    "PullRequestReview.state": attrgetter("state"),
    "RenamedTitleEvent.actor": attrgetter("user"),
    "RenamedTitleEvent.currentTitle": attrgetter("current"),
    "RenamedTitleEvent.previousTitle": attrgetter("previous"),
    "Repository.nameWithOwner": attrgetter("full_name"),
}


# Fields that look around

RESOLVERS: dict[str, Resolver] = {}


def resolves(*fields: str) -> Callable[[Resolver], Resolver]:
    def register(resolver: Resolver) -> Resolver:
        RESOLVERS.update(dict.fromkeys(fields, resolver))
        return resolver

    return register


def everything(repo: Repository) -> Iterator[Thing]:
    yield repo
    yield from repo.written()
    for pull in repo.pulls:
        yield from pull.threads


def by_id(info: Info, node_id: str) -> tuple[Repository, Any]:
    for repo in info.context.hub.repositories.values():
        for thing in everything(repo):
            if thing.node_id == node_id:
                return repo, thing
    raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")


@resolves("Query.viewer")
def viewer(_: None, info: Info) -> User:
    user = info.context.token.user
    return Viewer(id=user.id, created_at=user.created_at, login=user.login, kind=user.kind)


@resolves("Query.repository")
def repository(_: None, info: Info, owner: str, name: str, **__: Any) -> Repository:
    repo = info.context.hub.find(f"{owner}/{name}")
    if repo is None or not info.context.token.sees(repo):
        raise refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
    repo.refresh()
    return repo


@resolves("Query.node")
def node(_: None, info: Info, **arguments: str) -> Any:
    repo, found = by_id(info, arguments["id"])
    if not info.context.token.sees(repo):
        raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{arguments['id']}'")
    return found


@resolves("Repository.issue", "Repository.pullRequest")
def numbered(repo: Repository, info: Info, number: int) -> Issue:
    kind, found = (Pull if info.field_name == "pullRequest" else Issue), repo.issues.get(number)
    if type(found) is not kind:
        article = "a PullRequest" if kind is Pull else "an Issue"
        raise refused("NOT_FOUND", f"Could not resolve to {article} with the number of {number}.")
    return found


@resolves("url")
def url(thing: Thing, info: Info) -> str:
    """The page of a thing, as REST's `html_url`."""
    repo, _ = by_id(info, thing.node_id)
    match thing:
        case Issue():
            return render.html(repo, thing)
        case Comment():
            return str(render.comment(repo, thing)["html_url"])
        case Review() | ReviewComment():
            pull = next(pull for pull in repo.pulls if thing in (*pull.reviews, *pull.review_comments))
            anchor = "pullrequestreview-" if isinstance(thing, Review) else "discussion_r"
            return f"{render.html(repo, pull)}#{anchor}{thing.id}"
        case _:
            return repo.url


@resolves("isOutdated", "outdated")
def is_outdated(source: Thread | ReviewComment, info: Info) -> bool:
    comment = first_comment(source)
    repo, _ = by_id(info, comment.node_id)
    pull = next(pull for pull in repo.pulls if comment in pull.review_comments)
    return render.outdated(repo, pull, comment)


@resolves("line")
def line(source: Thread | ReviewComment, info: Info) -> int | None:
    return None if is_outdated(source, info) else first_comment(source).line


# Connections


@resolves("comments", "labels", "reviews")
def own_list(source: Any, info: Info, **arguments: Any) -> Page:
    return page(info, getattr(source, info.field_name), arguments)


@resolves("reviewThreads")
def review_threads(pull: Pull, info: Info, **arguments: Any) -> Page:
    return page(info, pull.threads, arguments)


@resolves("timelineItems")
def timeline_items(issue: Issue, info: Info, **arguments: Any) -> Page:
    """Changes of the title only."""
    if arguments.pop("itemTypes", None) != ["RENAMED_TITLE_EVENT"]:
        raise GraphQLError("timelineItems other than RENAMED_TITLE_EVENT are not modelled")
    return page(info, issue.renames, arguments)


def page(info: Info, items: Sequence[Any], arguments: Mapping[str, Any]) -> Page:
    """Forward or backward; GitHub wants one of both, and at most 100."""
    first, last, name = arguments.get("first"), arguments.get("last"), info.field_name
    if first is None and last is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise refused("MISSING_PAGINATION_BOUNDARIES", message)
    for bound, asked in (("first", first or 0), ("last", last or 0)):
        if asked > MAXIMUM_PAGE:
            message = f"Requesting {asked} records on the `{name}` connection exceeds the `{bound}` limit"
            raise refused("EXCESSIVE_PAGINATION", f"{message} of {MAXIMUM_PAGE} records.")
    unmodelled = {argument.name.value for argument in info.field_nodes[0].arguments or ()} - PAGING
    if unmodelled:
        raise GraphQLError(f"{name}({', '.join(sorted(unmodelled))}) is not modelled")
    start = int(arguments.get("after") or 0)
    end = min(int(arguments.get("before") or len(items) + 1) - 1, len(items))
    end = end if first is None else min(end, start + first)
    start = start if last is None else max(start, end - last)
    return Page(items[start:end], len(items), start)


# Mutations


def demand(info: Info, repo: Repository, *scopes: str) -> None:
    """A permission that is missing (cli/cli#8910); the words are those of REST."""
    token = info.context.token
    if token.permissions is None:
        allowed = repo.allows(token.user, "write")
    else:
        allowed = token.repository is repo and all(token.grants(scope, "write") for scope in scopes)
    if not allowed:
        raise refused("FORBIDDEN", "Resource not accessible by integration")


@resolves("Mutation.markPullRequestReadyForReview", "Mutation.convertPullRequestToDraft")
def draft(_: None, info: Info, **arguments: Any) -> Json:
    """Both permissions are needed (cli/cli#8910, open-telemetry/opentelemetry-collector-contrib#50226)."""
    given = arguments["input"]
    repo, pull = by_id(info, given["pullRequestId"])
    demand(info, repo, "pull_requests", "contents")
    pull.draft, pull.updated_at = info.field_name == "convertPullRequestToDraft", repo.hub.now()
    return {"pullRequest": pull, "clientMutationId": given.get("clientMutationId")}


@resolves("Mutation.minimizeComment")
def minimize(_: None, info: Info, **arguments: Any) -> Json:
    given = arguments["input"]
    repo, comment = by_id(info, given["subjectId"])
    demand(info, repo, "issues" if isinstance(comment, Comment) else "pull_requests")
    comment.minimized = given["classifier"]
    return {"minimizedComment": comment, "clientMutationId": given.get("clientMutationId")}


@resolves("Mutation.resolveReviewThread", "Mutation.unresolveReviewThread")
def resolve_thread(_: None, info: Info, **arguments: Any) -> Json:
    given = arguments["input"]
    repo, thread = by_id(info, given["threadId"])
    demand(info, repo, "pull_requests", "contents")
    thread.resolved_by = info.context.token.user if info.field_name == "resolveReviewThread" else None
    return {"thread": thread, "clientMutationId": given.get("clientMutationId")}


@resolves("Mutation.addPullRequestReviewThreadReply")
def add_reply(_: None, info: Info, **arguments: Any) -> Json:
    given = arguments["input"]
    repo, thread = by_id(info, given["pullRequestReviewThreadId"])
    demand(info, repo, "pull_requests")
    made = reply(repo.hub, thread, info.context.token.user, given["body"])
    return {"comment": made, "clientMutationId": given.get("clientMutationId")}

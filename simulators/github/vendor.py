"""Cut GitHub's own descriptions down to what the simulator uses; once for each new version, never in a test.

npm pack @octokit/openapi @octokit/graphql-schema @octokit/webhooks-examples    # then unpack each
python -m simulators.github.vendor OPENAPI_DIR GRAPHQL_DIR EXAMPLES_DIR
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from graphql import DocumentNode, Node, parse, print_ast
from graphql.language import ast

DATA = Path(__file__).parent / "data"
REPO = "/repos/{owner}/{repo}"

OPERATIONS = {
    "/user": "get",
    "/rate_limit": "get",
    REPO: "get",
    f"{REPO}/collaborators/{{username}}/permission": "get",
    f"{REPO}/labels": "get post",
    f"{REPO}/labels/{{name}}": "get",
    f"{REPO}/issues": "get",
    f"{REPO}/issues/{{issue_number}}": "get patch",
    f"{REPO}/issues/{{issue_number}}/comments": "get post",
    f"{REPO}/issues/{{issue_number}}/labels": "get post",
    f"{REPO}/issues/{{issue_number}}/labels/{{name}}": "delete",
    f"{REPO}/issues/{{issue_number}}/reactions": "get post",
    f"{REPO}/issues/comments/{{comment_id}}": "get patch delete",
    f"{REPO}/issues/comments/{{comment_id}}/reactions": "get post",
    f"{REPO}/pulls": "get post",
    f"{REPO}/pulls/{{pull_number}}": "get patch",
    f"{REPO}/pulls/{{pull_number}}/files": "get",
    f"{REPO}/pulls/{{pull_number}}/requested_reviewers": "get post",
    f"{REPO}/pulls/{{pull_number}}/reviews": "get post",
    f"{REPO}/pulls/{{pull_number}}/reviews/{{review_id}}": "get",
    f"{REPO}/pulls/{{pull_number}}/reviews/{{review_id}}/comments": "get",
    f"{REPO}/pulls/{{pull_number}}/comments": "get post",
    f"{REPO}/pulls/{{pull_number}}/comments/{{comment_id}}/replies": "post",
    f"{REPO}/statuses/{{sha}}": "post",
    f"{REPO}/commits/{{ref}}": "get",
    f"{REPO}/commits/{{ref}}/status": "get",
    f"{REPO}/commits/{{ref}}/statuses": "get",
    f"{REPO}/compare/{{basehead}}": "get",
    f"{REPO}/git/ref/{{ref}}": "get",
    f"{REPO}/git/refs": "post",
    f"{REPO}/git/matching-refs/{{ref}}": "get",
    f"{REPO}/actions/runs/{{run_id}}": "get",
}
EVENTS = {"issues": "labeled", "issue_comment": "created", "workflow_dispatch": None}
PROSE = {
    "description",
    "example",
    "examples",
    "externalDocs",
    "discriminator",
    "deprecated",
    "title",
    "summary",
}

# Null once a comment is outdated, as GitHub's prose says and its schema doesn't.
REALLY_NULL = {
    "pull-request-review-comment": ("line", "position", "start_line"),
    "review-comment": ("line", "position", "start_line"),
}

GRAPHQL_TYPES = {
    "Actor",
    "AddPullRequestReviewThreadReplyPayload",
    "Assignee",
    "Bot",
    "ClosedEvent",
    "Comment",
    "ConvertPullRequestToDraftPayload",
    "Issue",
    "IssueComment",
    "IssueCommentConnection",
    "IssueConnection",
    "IssueTimelineItems",
    "IssueTimelineItemsConnection",
    "Label",
    "LabelConnection",
    "LabeledEvent",
    "MarkPullRequestReadyForReviewPayload",
    "Minimizable",
    "MinimizeCommentPayload",
    "Mutation",
    "Node",
    "PageInfo",
    "PullRequest",
    "PullRequestConnection",
    "PullRequestReview",
    "PullRequestReviewComment",
    "PullRequestReviewCommentConnection",
    "PullRequestReviewConnection",
    "PullRequestReviewThread",
    "PullRequestReviewThreadConnection",
    "PullRequestTimelineItems",
    "PullRequestTimelineItemsConnection",
    "Query",
    "Reactable",
    "RenamedTitleEvent",
    "Repository",
    "ResolveReviewThreadPayload",
    "UnresolveReviewThreadPayload",
    "User",
}
GRAPHQL_ROOTS = {
    "Query": {"viewer", "repository", "node"},
    "Mutation": {
        "markPullRequestReadyForReview",
        "convertPullRequestToDraft",
        "minimizeComment",
        "resolveReviewThread",
        "unresolveReviewThread",
        "addPullRequestReviewThreadReply",
    },
}

Json = Any
N = TypeVar("N", bound=Node)


def slim(schema: Json) -> Json:
    """One OpenAPI 3.0 schema without prose, `nullable` turned into what JSON Schema 2020-12 understands."""
    if isinstance(schema, list):
        return [slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in PROSE and not key.startswith("x-")}
    nullable = kept.pop("nullable", False)
    out = {
        key: {name: slim(sub) for name, sub in value.items()}
        if key == "properties"
        else (value if key in {"enum", "default", "required"} else slim(value))
        for key, value in kept.items()
    }
    return with_null(out) if nullable else out


def with_null(schema: Json) -> Json:
    if isinstance(schema.get("type"), str) and not {"oneOf", "anyOf", "allOf"} & schema.keys():
        enum = {"enum": [*schema["enum"], None]} if "enum" in schema and None not in schema["enum"] else {}
        return {**schema, "type": [schema["type"], "null"], **enum}
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def references(node: Json) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix("#/components/schemas/")
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def content(part: Json) -> Json:
    found = part.get("content", {}).get("application/json")
    return {"content": {"application/json": {"schema": slim(found["schema"])}}} if found else {}


def operation(full: Json, described: Json) -> Json:
    """What the simulator needs of one operation: parameters, body, the answers that mean success."""

    def resolved(parameter: Json) -> Json:
        found = (
            full["components"]["parameters"][parameter["$ref"].rpartition("/")[2]] if "$ref" in parameter else parameter
        )
        return {key: slim(found[key]) for key in ("name", "in", "required", "schema") if key in found}

    out = {
        "operationId": described["operationId"],
        "parameters": [resolved(parameter) for parameter in described.get("parameters", [])],
        "responses": {code: content(answer) for code, answer in described["responses"].items() if code.startswith("2")},
    }
    if "requestBody" in described:
        out["requestBody"] = {
            "required": described["requestBody"].get("required", False),
            **content(described["requestBody"]),
        }
    return out


def openapi(full: Json) -> Json:
    """The operations and webhooks in use, with every schema they reach."""
    paths = {
        path: {method: operation(full, full["paths"][path][method]) for method in methods.split()}
        for path, methods in OPERATIONS.items()
    }
    names = [f"{event.replace('_', '-')}{'-' + action if action else ''}" for event, action in EVENTS.items()]
    hooks = {
        name: {"post": {"requestBody": content(full["x-webhooks"][name]["post"]["requestBody"])}} for name in names
    }
    schemas: dict[str, Json] = {}
    waiting = list(references([paths, hooks]))
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            schemas[name] = slim(full["components"]["schemas"][name])
            waiting += references(schemas[name])
    for name, fields in REALLY_NULL.items():
        properties = schemas[name]["properties"]
        properties |= {field: with_null(properties[field]) for field in fields if field in properties}
    return {
        "openapi": full["openapi"],
        "info": {key: full["info"][key] for key in ("title", "version", "license")},
        "paths": paths,
        "x-webhooks": hooks,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def graphql(full: DocumentNode) -> str:
    """The types in use; a field stays if all of its signature stays. Enums and inputs come as needed."""
    by_name = {d.name.value: d for d in full.definitions if isinstance(d, ast.TypeDefinitionNode)}
    leaves = {
        n
        for n, d in by_name.items()
        if not isinstance(
            d, ast.ObjectTypeDefinitionNode | ast.InterfaceTypeDefinitionNode | ast.UnionTypeDefinitionNode
        )
    }
    builtin = {"Int", "Float", "String", "Boolean", "ID"}
    kept, waiting = {}, sorted(GRAPHQL_TYPES)
    while waiting:
        name = waiting.pop()
        if name in kept or name in builtin:
            continue
        kept[name] = trimmed(by_name[name], lambda used: used in GRAPHQL_TYPES | leaves | builtin)
        waiting += [used for used in named_types(kept[name]) if used not in kept]
    return "\n\n".join(print_ast(kept[name]) for name in sorted(kept)) + "\n"


def trimmed(definition: ast.TypeDefinitionNode, allowed: Callable[[str], bool]) -> ast.TypeDefinitionNode:
    roots = GRAPHQL_ROOTS.get(definition.name.value)
    bare = without_prose(definition)
    if isinstance(bare, ast.UnionTypeDefinitionNode):
        return replace(bare, types=tuple(member for member in bare.types or () if allowed(member.name.value)))
    if isinstance(bare, ast.ObjectTypeDefinitionNode | ast.InterfaceTypeDefinitionNode):
        fields = [field for field in bare.fields or () if all(map(allowed, named_types(field)))]
        return replace(
            bare,
            interfaces=tuple(face for face in bare.interfaces or () if face.name.value in GRAPHQL_TYPES),
            fields=tuple(field for field in fields if roots is None or field.name.value in roots),
        )
    return bare


def without_prose(node: N) -> N:
    """The node and all below it without descriptions and directives."""
    changes: dict[str, Any] = {}
    for key in node.keys:
        value = getattr(node, key)
        if key == "description":
            changes[key] = None
        elif key == "directives":
            changes[key] = ()
        elif isinstance(value, tuple):
            changes[key] = tuple(without_prose(child) for child in value)
    return replace(node, **changes)


def named_types(node: Node) -> Iterator[str]:
    if isinstance(node, ast.NamedTypeNode):
        yield node.name.value
    for key in node.keys:
        value = getattr(node, key)
        for child in value if isinstance(value, tuple | list) else (value,):
            if isinstance(child, Node) and key != "directives":
                yield from named_types(child)


def examples(full: Json) -> Json:
    """The official payloads of the three events that may start a run."""
    return {
        event["name"]: [example for example in event["examples"] if example.get("action") == EVENTS[event["name"]]]
        for event in full
        if event["name"] in EVENTS
    }


def write(name: str, value: Json) -> None:
    (DATA / name).write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True) + "\n")


def main(openapi_dir: Path, graphql_dir: Path, examples_dir: Path) -> None:
    DATA.mkdir(exist_ok=True)
    write("openapi.json", openapi(json.loads((openapi_dir / "generated/api.github.com.json").read_text())))
    write("events.json", examples(json.loads((examples_dir / "api.github.com/index.json").read_text())))
    sdl = graphql(parse((graphql_dir / "schema.graphql").read_text(), no_location=True))
    (DATA / "schema.graphql").write_text(sdl)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

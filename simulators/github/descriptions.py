"""GitHub's own OpenAPI description: which operation a request is, and the shapes of it and of its answer."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

Json = Any
DATA = Path(__file__).parent / "data"
TAKES_SLASHES = {"ref", "basehead", "path"}
HOME = "urn:github"
NEUTRAL_TIME = "2026-01-01T00:00:00Z"


@cache
def _description() -> Json:
    text = (DATA / "openapi.json").read_text()
    return json.loads(text.replace('"#/', f'"{HOME}#/'))


@cache
def _registry() -> Registry[Any]:
    resource = DRAFT202012.create_resource(_description())
    registry: Registry[Any] = Registry().with_resource(HOME, resource)
    return registry


class Shape:
    """One schema of the description."""

    def __init__(self, schema: Json) -> None:
        self.schema = schema

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.schema, registry=_registry())

    def fault(self, value: Json) -> str | None:
        """What is wrong with the value, in one line."""
        if self._validator.is_valid(value):
            return None
        error = best_match(self._validator.iter_errors(value))
        return f"{error.json_path}: {error.message[:300]}" if error else None


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    template: str
    parameters: Mapping[str, Json]
    """query parameters"""
    integers: frozenset[str]
    body: Shape | None
    body_required: bool
    answers: Mapping[str, Shape | None]

    @cached_property
    def query(self) -> Mapping[str, Shape]:
        return {name: Shape(schema) for name, schema in self.parameters.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        def group(match: re.Match[str]) -> str:
            name = match[1]
            kind = ".+" if name in TAKES_SLASHES else r"\d+" if name in self.integers else "[^/]+"
            return f"(?P<{name}>{kind})"

        return re.compile(re.sub(r"\{(\w+)\}", group, self.template))


@cache
def operations() -> tuple[Operation, ...]:
    """The longest template first: `/commits/{ref}/status` before `/commits/{ref}`."""
    described = [
        _operation(method, template, found)
        for template, methods in _description()["paths"].items()
        for method, found in methods.items()
    ]
    return tuple(sorted(described, key=lambda operation: -operation.template.count("/")))


def route(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    for operation in operations():
        match = operation.pattern.fullmatch(path) if operation.method == method else None
        if match:
            return operation, match.groupdict()
    return None


def event(name: str) -> Shape:
    """The payload of a webhook, such as `issues-labeled`."""
    return Shape(_description()["x-webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"])


def _operation(method: str, template: str, found: Json) -> Operation:
    body = found.get("requestBody", {})
    parameters = found["parameters"]
    return Operation(
        id=found["operationId"],
        method=method.upper(),
        template=template,
        parameters={p["name"]: p["schema"] for p in parameters if p["in"] == "query"},
        integers=frozenset(p["name"] for p in parameters if p["in"] == "path" and p["schema"]["type"] == "integer"),
        body=Shape(_closed(_schema(body))) if body else None,
        body_required=body.get("required", False),
        answers={code: Shape(_schema(answer)) if answer else None for code, answer in found["responses"].items()},
    )


def _schema(content: Json) -> Json:
    return content["content"]["application/json"]["schema"]


def _closed(schema: Json) -> Json:
    """The same schema, but no key beside the named ones: GitHub ignores a misspelt key, a test must not."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **closed} if isinstance(schema.get("properties"), dict) else closed


def complete(schema: Json, value: Json, origin: str) -> Json:
    """The answer, with neutral values for the fields that GitHub demands and we have no opinion on."""
    chosen = _chosen(schema, value)
    if isinstance(value, list):
        return [complete(chosen.get("items", {}), item, origin) for item in value]
    if not isinstance(value, dict):
        return value
    properties = chosen.get("properties", {})
    missing = {
        name: _neutral(properties.get(name, {}), origin) for name in chosen.get("required", ()) if name not in value
    }
    return {
        **missing,
        **{name: complete(properties.get(name, {}), item, origin) for name, item in value.items()},
    }


def _chosen(schema: Json, value: Json) -> Json:
    """The schema without references and choices: of several, the first that has the value's own type."""
    schema = _resolved(schema)
    if "allOf" in schema:
        parts = [_chosen(part, value) for part in schema["allOf"]]
        properties = {name: sub for part in parts for name, sub in part.get("properties", {}).items()}
        return {
            "properties": properties,
            "required": [name for part in parts for name in part.get("required", ())],
        }
    for branch in _branches(schema):
        kind = branch.get("type", "object")
        if isinstance(value, dict) == (kind == "object" or "object" in kind):
            return _chosen(branch, value)
    return schema


def _branches(schema: Json) -> Iterator[Json]:
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield _resolved(branch)


def _resolved(schema: Json) -> Json:
    while "$ref" in schema:
        schema = _description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _neutral(schema: Json, origin: str) -> Json:
    """Null if that is allowed, else the emptiest value of the type."""
    schema = _resolved(schema)
    kind = schema.get("type", "")
    branches = list(_branches(schema))
    if "null" in kind or any(branch.get("type") == "null" for branch in branches):
        return None
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "string":
        return {"uri": f"{origin}/", "date-time": NEUTRAL_TIME}.get(schema.get("format", ""), "")
    if kind in {"integer", "number", "boolean", "array"}:
        return {"integer": 0, "number": 0, "boolean": False, "array": []}[kind]
    return _neutral(branches[0], origin) if branches else complete(schema, {}, origin)

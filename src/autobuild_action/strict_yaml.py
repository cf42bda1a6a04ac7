"""YAML as people type it into settings: plain values only, and every fault as a sentence with its line.

Beyond YAML's own grammar it refuses what a settings file never needs and an attacker may want: anchors and
aliases (a few lines of them can stand for gigabytes), tags, deep nesting and duplicate keys. ``yes``, ``on``
and dates stay text, as in YAML 1.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from autobuild_action.quote import code

MAX_DEPTH = 10


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The one document of a text; ``value`` is None where a fault hindered reading and for an empty text."""

    value: object = None
    faults: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """Safe, with the scalars of YAML 1.2's core schema, and with an eye on duplicate keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  filled below

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.faults: list[str] = []

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002  PyYAML's signature
    ) -> dict[Any, Any]:
        """Like PyYAML's, but a key must be text and may stand only once."""
        seen: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key.start_mark)
            if key.value in seen:
                self.faults.append(f"line {line}: {code(key.value)} is given twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


# Numbers are bounded in length, never octal, hexadecimal or in base 60: constructing one cannot fail.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,17})$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]{0,17}\.[0-9]{1,17}|[0-9]{1,17}\.)$"),
    list("-+.0123456789"),
)


def load(text: str) -> Loaded:
    """Read ``text``; never raises, whatever it is."""
    try:
        faults = _screen(text)
        return Loaded(faults=faults) if faults else _document(text)
    except yaml.YAMLError as exc:
        return Loaded(faults=(_sentence(exc, text),))


def _screen(text: str) -> tuple[str, ...]:
    """What is refused before anything is built; the event parser needs no recursion."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            return (f"line {line}: anchors and aliases (`&`, `*`) have no place here",)
        if getattr(event, "tag", None) is not None:
            return (f"line {line}: tags (`!`) have no place here",)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return (f"line {line}: nested too deeply",)
    return ()


def _document(text: str) -> Loaded:
    loader = _Loader(text)
    try:
        value = loader.get_single_data()
    finally:
        loader.dispose()
    return Loaded(value=value, faults=tuple(loader.faults))


def _sentence(exc: yaml.YAMLError, text: str) -> str:
    """The error's own words with the line, without PyYAML's excerpt of the text."""
    if isinstance(exc, yaml.MarkedYAMLError) and exc.problem_mark is not None:
        return f"line {exc.problem_mark.line + 1}: {exc.problem or exc.context}"
    if isinstance(exc, yaml.reader.ReaderError):
        line = text.count("\n", 0, exc.position) + 1
        return f"line {line}: the character U+{ord(text[exc.position]):04X} is not allowed"
    return "not YAML"

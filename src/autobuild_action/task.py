"""An issue becomes the frozen contract of an attempt: what both roles read, with its criteria numbered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from autobuild_action.errors import ClarificationError, ConfigurationError
from autobuild_action.model import Criterion, Mode, Task, TaskType
from autobuild_action.quote import code
from autobuild_action.strict_yaml import load

MAX_BODY = 40_000
MAX_CRITERIA = 100
MAX_CRITERION = 2_000
MAX_TURNS = 10
MAX_FILES = 50
MAX_PATH = 300
MAX_NOTE = 200

MAX_NESTING = 20
"""Deeper than this the parser drops what it finds; nobody writes so."""
MARKDOWN = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")

ACCEPTANCE = re.compile(r"\bacceptance\s+criteri(?:a|on)\b", re.IGNORECASE)
ONLY_ACCEPTANCE = re.compile(r"\W*acceptance\s+criteri(?:a|on)\W*", re.IGNORECASE)
TICK = re.compile(r"^\[[ xX]\]\s+(?=\S)")
OWN_NUMBER = re.compile(r"^(?:\*\*|__)?AC-\d+(?:\*\*|__)?[:.)](?:\*\*|__)?\s+(?=\S)", re.IGNORECASE)
LISTS = ("bullet_list", "ordered_list")
BOLD_LINE = 7
"""A paragraph that is all bold stands where others write a heading; it ranks below all six levels."""

E = TypeVar("E", TaskType, Mode)

OTHER_WORDS = {
    "bug": TaskType.BUGFIX,
    "fix": TaskType.BUGFIX,
    "docs": TaskType.DOCUMENTATION,
    "enhancement": TaskType.FEATURE,
    "test": TaskType.TESTING,
    "tests": TaskType.TESTING,
}
"""What repositories call these types in their labels."""


def freeze(title: str, body: str | None, *, labels: Sequence[str] = ()) -> Task:
    """The contract in an issue's title and body; a label ``type:…`` gives the type where the body does not.

    The criteria are, in this order of preference: the checklist under a heading that says acceptance
    criteria, the list there, any checklist, else every paragraph and list item. ``sha256`` is that of the
    title, a line feed and the body as GitHub gave them.

    Raises ConfigurationError with every fault of the front matter and for too many criteria, and
    ClarificationError where nothing can be judged. Both come before any call of a model.
    """
    raw = body or ""
    front, rest = _front_matter(raw.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff"))
    shown, hidden = visible(rest)
    heading, hidden_in_title = _without_invisible(" ".join(title.split()))
    found = _criteria(SyntaxTreeNode(MARKDOWN.parse(shown)))
    faults = (*front.faults, *_too_many(found))
    if faults:
        raise ConfigurationError(_listed("The issue can't be taken as it is", faults), EDIT)
    if not found:
        raise _unclear(shown)
    criteria = tuple(Criterion(id=f"AC-{n}", text=text) for n, text in enumerate(map(_cut, found), start=1))
    return Task(
        title=heading or "(no title)",
        text=render_contract(heading or "(no title)", shown, criteria),
        criteria=criteria,
        sha256=sha256(f"{title}\n{raw}".encode("utf-8", "surrogatepass")).hexdigest(),
        type=front.type or _labelled_type(labels) or TaskType.FEATURE,
        mode=front.mode,
        max_turns=front.max_turns,
        files=front.files,
        notes=(*front.notes, *_notes((*hidden_in_title, *hidden), shown, found)),
    )


def render_contract(title: str, body: str, criteria: Iterable[Criterion]) -> str:
    """The text that both roles get; the criteria are never cut, the body is, and says so."""
    if len(body) > MAX_BODY:
        stated = f"[cut here: the issue has {len(body):,} characters; the criteria below are complete]"
        body = f"{body[:MAX_BODY]}\n\n{stated}"
    lines = "\n".join(f"{criterion.id}: {criterion.text}" for criterion in criteria)
    return f"# {title}\n\n{body}\n\n## Acceptance criteria\n\n{lines}\n"


EDIT = "Edit the issue, then comment `/autobuild retry`."


def _listed(what: str, faults: Iterable[str]) -> str:
    return "\n".join((f"{what}:", *(f"- {fault}" for fault in faults)))


def _unclear(shown: str) -> ClarificationError:
    what = "The issue says nothing that could be judged" if shown else "The issue has no text"
    write = "Write what must be true in the end, best as a checklist under a heading `Acceptance criteria`."
    return ClarificationError(f"{what}, so there is no telling when the work is done.", f"{write} {EDIT}")


def _too_many(found: Sequence[str]) -> tuple[str, ...]:
    if len(found) <= MAX_CRITERIA:
        return ()
    most = f"it has {len(found)} acceptance criteria, and {MAX_CRITERIA} is the most"
    return (f"{most}: split the issue, or put a shorter checklist under a heading `Acceptance criteria`",)


def _cut(text: str) -> str:
    mark = f" … [cut: {len(text):,} characters]"
    return text if len(text) <= MAX_CRITERION else text[: MAX_CRITERION - len(mark)] + mark


def _notes(hidden: Sequence[str], shown: str, found: Sequence[str]) -> Iterator[str]:
    if hidden:
        yield f"hidden text was removed: {code(' · '.join(hidden), limit=MAX_NOTE)}"
    if len(shown) > MAX_BODY:
        size = f"the body has {len(shown):,} characters"
        yield f"{size}; the agents see the first {MAX_BODY:,} and all criteria"
    for number, text in enumerate(found, start=1):
        if len(text) > MAX_CRITERION:
            yield f"AC-{number} has {len(text):,} characters and was cut to {MAX_CRITERION:,}"


# --- front matter -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Front:
    """What an issue may say about its own run: never commands, never a higher limit (threats.md §6.2)."""

    type: TaskType | None = None
    mode: Mode | None = None
    max_turns: int | None = None
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def _front_matter(body: str) -> tuple[_Front, str]:
    """The front matter, and the body without it; a rule (``---``) around ordinary text is no front matter."""
    lines = body.split("\n")
    ends = [n for n, line in enumerate(lines) if n and line.rstrip() in ("---", "...")]
    if lines[0].rstrip() != "---" or not ends:
        return _Front(), body
    loaded = load("\n".join(("", *lines[1 : ends[0]])))  # the empty line keeps the numbers of the lines right
    if not (loaded.faults or loaded.value is None or isinstance(loaded.value, (dict, list))):
        return _Front(), body
    front = _read(loaded.value) if isinstance(loaded.value, dict) else _Front()
    is_list = ("it is a list; write `name: value` lines",) if isinstance(loaded.value, list) else ()
    named = tuple(f"front matter: {fault}" for fault in (*loaded.faults, *is_list, *front.faults))
    return replace(front, faults=named), "\n".join(lines[ends[0] + 1 :])


def _read(values: dict[object, object]) -> _Front:
    given = {str(key).lower().replace("_", "-"): value for key, value in values.items()}
    faults: list[str] = []
    front = _Front(
        type=_enum(given.pop("type", None), TaskType, "type", faults),
        mode=_enum(given.pop("mode", None), Mode, "mode", faults),
        max_turns=_turns(given.pop("max-turns", None), faults),
        files=_files(given.pop("files", None), faults),
    )
    notes: tuple[str, ...] = ()
    if given:
        names = code(", ".join(sorted(given)), limit=MAX_NOTE)
        notes = (f"only type, mode, max-turns and files count in the front matter; ignored: {names}",)
    return replace(front, notes=notes, faults=tuple(faults))


def _enum(value: object, kind: type[E], name: str, faults: list[str]) -> E | None:
    if value is None:
        return None
    try:
        return kind(str(value).lower())
    except ValueError:
        faults.append(f"`{name}` must be one of {', '.join(kind)}, not {code(value)}")
        return None


def _turns(value: object, faults: list[str]) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_TURNS:
        return value
    faults.append(f"`max-turns` must be a whole number from 1 to {MAX_TURNS}, not {code(value)}")
    return None


def _files(value: object, faults: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    items: list[object] = value if isinstance(value, list) else [value]
    if len(items) > MAX_FILES:
        faults.append(f"`files` names {len(items)} files, and {MAX_FILES} is the most")
        return ()
    paths = tuple(str(PurePosixPath(item)) for item in items if isinstance(item, str) and _inside(item))
    wrong = (item for item in items if not (isinstance(item, str) and _inside(item)))
    faults.extend(f"`files` must name files by paths inside the repository, not {code(item)}" for item in wrong)
    return paths


def _inside(item: str) -> bool:
    """True for a relative path that stays in the tree and reads as it is."""
    if not 0 < len(item) <= MAX_PATH or not item.isprintable():
        return False
    path = PurePosixPath(item)
    parts = [part.lower() for part in path.parts]
    odd = "\\" in item or ":" in item or item.strip() != item or item.startswith("~")
    return bool(parts) and not (odd or path.is_absolute() or ".." in parts or ".git" in parts)


def _labelled_type(labels: Iterable[str]) -> TaskType | None:
    for label in labels:
        kind, _, value = label.casefold().partition(":")
        word = value.strip()
        if kind == "type" and (word in OTHER_WORDS or word in set(TaskType)):
            return OTHER_WORDS.get(word) or TaskType(word)
    return None


# --- what people see --------------------------------------------------------------------------------

INVISIBLE = re.compile(
    # Unicode's Default_Ignorable_Code_Point (zero width, bidi controls, tags, fillers), but for a variation
    # selector after a character, which ⚠️ and ❤️ are made of; control characters; halves of surrogate pairs.
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\ud800-\udfff]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]"
)
UNRENDERED = re.compile(r"<!--.*?(-->|\Z)|<\?.*?(\?>|\Z)|<!\[CDATA\[.*?(\]\]>|\Z)|<![A-Za-z].*?(>|\Z)", re.DOTALL)
"""Comments and what browsers treat as comments, closed or running to the end."""
PREFIX = r"[ \t]*\n[ \t>]*"
"""What may stand before a line that Markdown hands over bare: indentation and quote marks."""
FOOTNOTE = re.compile(r" {0,3}\[\^([^\]\s]+)\]:")


def visible(text: str) -> tuple[str, tuple[str, ...]]:
    """Markdown as people see it on GitHub, and what was taken out: comments, invisible characters and so on.

    A stranger's issue must not say more to the agents than to the person who set the label. Comments go
    first, as GitHub reads them, and once more afterwards, since an invisible character may have split one.
    What stands in code stays, comments included: there they are shown.
    """
    text, comments = _without_comments(text)
    text, definitions = _without_definitions(text)
    text, characters = _without_invisible(text)
    text, late = _without_comments(text)
    return text.strip("\n").rstrip(), (*comments, *definitions, *characters, *late)


def _without_invisible(text: str) -> tuple[str, tuple[str, ...]]:
    found = Counter(INVISIBLE.findall(text))
    names = (f"U+{ord(char):04X} × {count}" for char, count in found.items())
    return INVISIBLE.sub("", text), tuple(names)


def _without_comments(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without HTML comments; from the last one back, so that the lines before keep their numbers."""
    lines = text.split("\n")
    removed: list[str] = []
    tokens = MARKDOWN.parse(text)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):  # what lies deeper was not parsed
        return UNRENDERED.sub("", text), tuple(match[0] for match in UNRENDERED.finditer(text))
    for token in reversed(tokens):
        start, end = token.map or (0, 0)
        part = "\n".join(lines[start:end])
        if token.type == "html_block":
            found = list(UNRENDERED.finditer(part))
            comments = [match[0] for match in found]
            if found and not any(found[-1].groups()):  # never closed: a browser hides all the rest
                rest = "\n".join(("", *lines[end:]))
                comments[-1], part, end = comments[-1] + rest, part + rest, len(lines)
            for comment in comments:
                part = part.replace(comment, "")
        elif token.type == "inline":
            comments = [child.content for child in token.children or () if _is_comment(child)]
            part = _without(part, comments)
        else:
            continue
        lines[start:end] = part.split("\n")
        removed.extend(reversed(comments))
    return "\n".join(lines), tuple(reversed(removed))


def _is_comment(token: Token) -> bool:
    return token.type == "html_inline" and UNRENDERED.match(token.content) is not None


def _without(part: str, comments: Iterable[str]) -> str:
    """``part`` of the source without these comments, whose lines Markdown hands over without their prefix."""
    for comment in dict.fromkeys(comments):
        lines = (re.escape(line.strip()) for line in comment.split("\n"))
        part, found = re.subn(PREFIX.join(lines), "", part)
        if not found:  # written otherwise in the source (`\\|` in a table): rather too much than too little
            return UNRENDERED.sub("", part)
    return part


def _without_definitions(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without definitions of links and footnotes that nothing uses, like ``[//]: # (…)``."""
    lines = text.split("\n")
    environment: dict[str, Any] = {}
    tokens = MARKDOWN.parse(text, environment)
    hidden = _unused_links(tokens, environment) | _unused_footnotes(tokens, text)
    kept = (line for number, line in enumerate(lines) if number not in hidden)
    return "\n".join(kept), tuple(lines[number] for number in sorted(hidden))


def _unused_links(tokens: Iterable[Token], environment: Mapping[str, Any]) -> set[int]:
    """The lines of definitions whose address no link and no picture has; the parser keeps their lines."""
    parts = [part for token in tokens for part in token.children or ()]
    used = {part.attrGet(name) for part in parts for name in ("href", "src")}
    defined = [*environment.get("references", {}).values(), *environment.get("duplicate_refs", [])]
    return {line for link in defined if link["href"] not in used for line in range(*link["map"])}


def _unused_footnotes(tokens: Iterable[Token], text: str) -> set[int]:
    """The lines of footnotes that nothing refers to: CommonMark has none, so they look like paragraphs."""
    lines = text.split("\n")
    hidden: set[int] = set()
    for token in tokens:
        start, end = token.map or (0, 0)
        unused = False
        for number in range(start, end) if token.type == "inline" else ():
            begin = FOOTNOTE.match(lines[number])
            unused = text.count(f"[^{begin[1]}]") == 1 if begin else unused
            hidden |= {number} if unused else set()
        while unused and end < len(lines) and (not lines[end].strip() or lines[end].startswith("    ")):
            hidden |= {end} if lines[end].strip() else set()
            end += 1
    return hidden


# --- criteria ---------------------------------------------------------------------------------------


def _criteria(root: SyntaxTreeNode) -> list[str]:
    """The criteria in the order of the text, by the first rule that finds any."""
    blocks = root.children
    section = _section(blocks)
    lists = [block for block in section if block.type in LISTS]
    found = _ticked(section) or _points(lists) or _ticked(blocks) or _points(section or blocks)
    return [OWN_NUMBER.sub("", text) for text in found]


def _section(blocks: Sequence[SyntaxTreeNode]) -> list[SyntaxTreeNode]:
    """What stands under the headings that say acceptance criteria, each up to the next of its rank."""
    found: list[SyntaxTreeNode] = []
    rank = 0  # of the heading we are under; 0 outside
    for block in blocks:
        own = _rank(block)
        if own and own <= (rank or BOLD_LINE):
            rank = own if ACCEPTANCE.search(_inline(block)) else 0
        elif rank:
            found.append(block)
    return found


def _rank(block: SyntaxTreeNode) -> int:
    """1 to 6 for headings, 7 for a paragraph that serves as one, 0 for all else."""
    if block.type == "heading":
        return int(block.tag[1])
    if block.type != "paragraph":
        return 0
    parts = [part for part in block.children[0].children if part.type != "text" or part.content.strip(" :")]
    bold = len(parts) == 1 and parts[0].type == "strong"
    return BOLD_LINE if bold or ONLY_ACCEPTANCE.fullmatch(_inline(block)) else 0


def _inline(block: SyntaxTreeNode) -> str:
    """The source of a heading's or paragraph's text, on one line."""
    return " ".join(line.strip() for line in block.children[0].content.split("\n"))


def _ticked(blocks: Iterable[SyntaxTreeNode]) -> list[str]:
    """Every item with a box, nested ones after their parent; quotes and code are not looked into."""
    found: list[str] = []
    for block in blocks:
        if block.type == "list_item" and _has_box(block):
            found.append(_item(block))
        if block.type in (*LISTS, "list_item"):
            found.extend(_ticked(block.children))
    return found


def _has_box(item: SyntaxTreeNode) -> bool:
    first = item.children[0] if item.children else None
    return first is not None and first.type == "paragraph" and TICK.match(_inline(first)) is not None


def _item(item: SyntaxTreeNode) -> str:
    """An item's text with its nested plain lists; nested items with a box are criteria of their own."""
    parts: list[str] = []
    for child in item.children:
        if child.type == "paragraph":
            parts.append(_inline(child) if parts else TICK.sub("", _inline(child)))
        elif child.type in LISTS:
            parts.extend(_item(nested) for nested in child.children if not _has_box(nested))
        elif child.type in ("fence", "code_block"):
            parts.append("(see the code in the text above)")
    return _joined(part for part in parts if part)


def _joined(parts: Iterable[str]) -> str:
    text = ""
    for part in parts:
        between = " " if text.endswith((":", ".", ",", ";", "!", "?")) or part.startswith("(") else "; "
        text = f"{text}{between}{part}" if text else part
    return text


def _points(blocks: Sequence[SyntaxTreeNode]) -> list[str]:
    """Every paragraph and every list item of the top level, without lines that only introduce the next."""
    found: list[str] = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.type in LISTS:
            found.extend(text for item in block.children if (text := _item(item)))
        elif block.type == "paragraph" and _says_something(block) and not _introduces(block, following):
            found.append(_inline(block))
    return found


def _introduces(paragraph: SyntaxTreeNode, following: SyntaxTreeNode | None) -> bool:
    if following is None:
        return False
    return _rank(paragraph) == BOLD_LINE or (following.type in LISTS and _inline(paragraph).endswith(":"))


def _says_something(node: SyntaxTreeNode) -> bool:
    """True where there are words; a picture alone is no criterion."""
    if node.type in ("text", "code_inline"):
        return bool(node.content.strip())
    return node.type != "image" and any(map(_says_something, node.children))

"""Foreign text made harmless: whatever a model, a test or a person wrote, as Markdown or as a log line.

GitHub finds mentions and references in the *rendered* text, so a backslash or an entity does not stop
them. A code span does: what could become live is shown as code, all other markup is escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WHOLE_BODY = 60_000
"""GitHub refuses bodies over 65,536 characters; this leaves room for closers and notices."""

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\)"  # OSC and its kin, when they end
    r"|\x1b[ -/]*[0-Z\\^-~]"  # two-character escapes
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
HIDDEN = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0E)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Bidirectional and zero-width controls, and what else takes no room: first and last of each range."""
_HIDDEN = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in HIDDEN) + "]")
_LIVE = re.compile(  # what GitHub would turn into a link, a mention, a reference or a formula
    r"://|www\.|@\S|#[0-9]|\$|(?<![a-z0-9_])gh-[0-9]|ghsa-|cve-[0-9]"
    r"|(?<![a-z0-9_])[0-9a-f]{7,64}(?![a-z0-9_])",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`)(.+?)(?<!`)\1(?!`)")
_CHUNK = re.compile(r"(\s+)")
_BEFORE, _AFTER = "([{\"'*_~,;", ".,;:!?)]}\"'*_~"
_MARKUP = re.compile(r"[\\`*~\[\]|<]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])")
_LINE_START = re.compile(r"[-+](?=\s|$)|-(?=[-\s]*$)|=(?=[=\s]*$)|#(?=#{0,5}(?:\s|$))|>|:(?=-)")
_NUMBERED_START = re.compile(r"([0-9]{1,9})([.)])(?=\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+]|([0-9]{1,4})[.)])\s+(\S.*)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([A-Za-z+#-]*)[^`]*$")
_LANGUAGES = frozenset(
    (
        *("bash", "c", "console", "cpp", "css", "diff", "go", "html", "java", "javascript", "js", "json"),
        *("jsx", "kotlin", "php", "py", "python", "ruby", "rust", "sh", "shell", "sql", "swift", "text"),
        *("toml", "ts", "tsx", "typescript", "xml", "yaml"),
    )
)  # no mermaid, math, geojson or suggestion: GitHub does more than print those
_OUR_MARKER = re.compile(r"<!--\s*autobuild:")


# --- cleaning ---------------------------------------------------------------------------------------


def _prose(text: str) -> str:
    """Without escape sequences, controls and hidden characters; every line break is a newline."""
    text = _NEWLINES.sub("\n", _ANSI.sub("", text))
    return _HIDDEN.sub("", _CONTROL.sub("", _SURROGATES.sub("\ufffd", text)))


def _evidence(text: str) -> str:
    """As :func:`_prose`, but what is hidden is spelt out: evidence shall not look cleaner than it is."""
    text = _NEWLINES.sub("\n", _ANSI.sub("", text))
    for pattern in (_CONTROL, _HIDDEN, _SURROGATES):
        text = pattern.sub(_spelt, text)
    return text


def _spelt(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _no_comment(text: str) -> str:
    """Break the opener of an HTML comment where entities cannot be used."""
    return text.replace("<!--", "<! --")


def _shorter(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


# --- one line ---------------------------------------------------------------------------------------


def inline(text: str, limit: int) -> str:
    """One line of Markdown for a sentence or a list item; ``limit`` counts characters of ``text``."""
    return _line(_one_line(text, limit))


def cell(text: str, limit: int) -> str:
    """As :func:`inline`, for the cell of a table: a pipe inside a code span is shown as a broken bar."""
    return _line(_one_line(text, limit), bar="¦")


def code(text: str, limit: int) -> str:
    """An inline code span that shows ``text`` and can be closed by nothing in it."""
    return _span(_shorter(" ".join(_evidence(text[: limit * 4 + 100]).split()), limit))


def cell_code(text: str, limit: int) -> str:
    """As :func:`code`, for the cell of a table."""
    return code(text.replace("|", "¦"), limit)


def plain(text: str, limit: int) -> str:
    """One line without Markdown, for titles, commit messages and statuses: no mention, reference or link."""
    text = _one_line(text, limit * 2)
    before = ""
    while before != text:  # taking one thing out may join two halves of another
        before = text
        for pattern, instead in _PLAIN:
            text = pattern.sub(instead, text)
    return _shorter(" ".join(text.split()), limit)


_PLAIN = (
    (re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://+|://+|(?<![A-Za-z0-9])www\.", re.IGNORECASE), ""),
    (re.compile(r"@+(?=\S)"), ""),
    (re.compile(r"(?<=\S)#+(?=[0-9])"), " "),
    (re.compile(r"#+(?=[0-9])"), ""),
    (re.compile(r"(?<![A-Za-z0-9_])gh-(?=[0-9])", re.IGNORECASE), "GH "),
    (re.compile(r"(?<![A-Za-z0-9_])([0-9a-f]{6})[0-9a-f]{34}(?![A-Za-z0-9_])", re.IGNORECASE), r"\1…"),
    (re.compile(r"\[\s*((?:skip|no)\s+(?:ci|actions)|(?:ci|actions)\s+skip)\s*\]", re.IGNORECASE), r"\1"),
    (re.compile(r"\*{3}NO_CI\*{3}", re.IGNORECASE), "NO_CI"),
    (re.compile(r"<!--|-->|`"), ""),
)


def _one_line(text: str, limit: int) -> str:
    return _shorter(" ".join(_prose(text[: limit * 4 + 100]).split()), limit)


def _line(text: str, bar: str = "|") -> str:
    """One cleaned line as Markdown; the model's own code spans stay code spans."""
    pieces: list[str] = []
    at = 0
    for match in _CODE_SPAN.finditer(text):
        _append(pieces, _words(text[at : match.start()], bar))
        _append(pieces, [_span(match[2].strip().replace("|", bar))])
        at = match.end()
    _append(pieces, _words(text[at:], bar))
    return _at_line_start("".join(pieces))


def _append(pieces: list[str], more: list[str]) -> None:
    """Join so that two code spans never touch: their backticks would run together."""
    for piece in more:
        if piece and pieces and pieces[-1].endswith("`") and piece.startswith("`"):
            pieces.append(" ")
        if piece:
            pieces.append(piece)


def _words(text: str, bar: str) -> list[str]:
    found: list[str] = []
    for chunk in _CHUNK.split(text):
        if not _LIVE.search(chunk):
            found.append(_escape(chunk))
            continue
        start = len(chunk) - len(chunk.lstrip(_BEFORE))
        end = max(len(chunk.rstrip(_AFTER)), start)
        found += [_escape(chunk[:start]), _span(chunk[start:end].replace("|", bar)), _escape(chunk[end:])]
    return found


def _escape(text: str) -> str:
    return _MARKUP.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return {"<": "&lt;", "&": "&amp;"}.get(match[0], "\\" + match[0])


def _at_line_start(text: str) -> str:
    """Escape what would begin a heading, list, quote, rule or table at the start of a line."""
    if _LINE_START.match(text):
        return "\\" + text
    return _NUMBERED_START.sub(r"\1\\\2", text, count=1) if _NUMBERED_START.match(text) else text


def _span(text: str) -> str:
    text = _no_comment(text)
    if not text:
        return "(empty)"
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# --- several lines ----------------------------------------------------------------------------------


def block(text: str, limit: int) -> str:
    """Prose as paragraphs, lists and code blocks, for a place of its own at the left margin."""
    lines = _prose(_shorter(text, limit)).split("\n")
    out: list[str] = []
    while lines:
        opener = _FENCE.fullmatch(lines[0])
        if opener:
            out += ["", _code_block(opener, lines), ""]
            continue
        out.append(_prose_line(lines.pop(0)))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")


def _code_block(opener: re.Match[str], lines: list[str]) -> str:
    """Take a fenced block off the front of ``lines``; one that is never closed goes to the end."""
    lines.pop(0)
    inside: list[str] = []
    closer = re.compile(rf"\s{{0,3}}{re.escape(opener[1][0])}{{{len(opener[1])},}}\s*")
    while lines:
        line = lines.pop(0)
        if closer.fullmatch(line):
            break
        inside.append(line)
    info = opener[2].lower()
    content = "\n".join(inside)
    return fenced(content, len(content) + 1, info if info in _LANGUAGES else "")


def _prose_line(line: str) -> str:
    item = _ITEM.fullmatch(line.rstrip())
    if not item:
        return _line(" ".join(line.split()))
    bullet = f"{item[1]}." if item[1] else "-"
    return f"{bullet} {_line(' '.join(item[2].split()))}"


def fenced(text: str, limit: int, info: str = "") -> str:
    """A code block of ``text``, head and tail where it is too long; nothing inside can close it."""
    text = head_and_tail(_no_comment(_evidence(text).strip("\n")), limit)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{info}\n{text}\n{fence}" if text else f"{fence}{info}\n{fence}"


def head_and_tail(text: str, limit: int) -> str:
    """``text`` within ``limit``: its head (a quarter), a line that states the cut, and its tail."""
    if len(text) <= limit:
        return text
    head = text[: limit // 4]
    tail = text[len(text) - (limit - limit // 4) :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out …]\n{tail}"


def suggestible(text: str, limit: int = 10_000) -> bool:
    """True where ``text`` may be offered for applying with one click, exactly as it is."""
    odd = any(pattern.search(text) for pattern in (_CONTROL, _HIDDEN, _SURROGATES, _OUR_MARKER))
    return len(text) <= limit and not odd and not _NEWLINES.search(text.replace("\r\n", "\n"))


def suggestion(text: str) -> str:
    """A ``suggestion`` block: GitHub replaces the commented lines by exactly this text."""
    text = text.replace("\r\n", "\n").removesuffix("\n")
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}suggestion\n{text}\n{fence}" if text else f"{fence}suggestion\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are safe already; a head that begins with ``>`` is set to the right."""
    line = "|" + "|".join("---:" if name.startswith(">") else "---" for name in head) + "|"
    names = "| " + " | ".join(name.removeprefix(">") for name in head) + " |"
    return "\n".join([names, line, *("| " + " | ".join(row) + " |" for row in rows)])


# --- whole texts ------------------------------------------------------------------------------------


def cut(body: str, limit: int = WHOLE_BODY) -> str:
    """A body of ours within ``limit``: open fences and ``<details>`` closed, the cut stated, marker kept."""
    if len(body) <= limit:
        return body
    lines = body.rstrip("\n").split("\n")
    last = lines.pop() if _OUR_MARKER.match(lines[-1]) else ""
    room, made = limit, body
    while len(made) > limit and room > 0:
        room -= max(len(made) - limit, 200) if room < limit else 300 + len(last)
        kept = _lines_within(lines, room)
        left_out = len(body) - sum(len(line) + 1 for line in kept)
        notice = f"_This text was too long: {left_out:,} of {len(body):,} characters are left out here._"
        made = "\n".join([*kept, *_closers(kept), "", notice, *(["", last] if last else [])])
    return made


def _lines_within(lines: list[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _closers(lines: list[str]) -> list[str]:
    fence = ""
    details = 0
    for line in lines:
        match = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        elif not fence:
            details += line.count("<details") - line.count("</details>")
    return ([fence] if fence else []) + (["", "</details>"] * max(details, 0))


def log_safe(text: str) -> str:
    """``text`` for standard output, where the runner obeys ``::name`` that begins a line and any ``##[``."""
    text = _evidence(text).replace("##[", "## [")
    return re.sub(r"^(\s*):(?=:)", r"\1: ", text, flags=re.MULTILINE)

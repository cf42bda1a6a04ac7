"""What is posted of foreign text holds nothing that GitHub, a Markdown parser or the runner would act on."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from autobuild_action import text

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LIVE = re.compile(
    r"@\S|#[0-9]|://|www\.|\$|(?<![a-z0-9_])gh-[0-9]|(?<![a-z0-9_])[0-9a-f]{7,40}(?![a-z0-9_])", re.IGNORECASE
)
HARMLESS = {
    "paragraph_open",
    "paragraph_close",
    "inline",
    "text",
    "softbreak",
    "hardbreak",
    "code_inline",
    "fence",
    "bullet_list_open",
    "bullet_list_close",
    "ordered_list_open",
    "ordered_list_close",
    "list_item_open",
    "list_item_close",
}
HOSTILE = [
    "@octocat and @octo-org/team, mail a@b.example",
    "fixes #12, closes GH-3, resolves octo-org/weather#4 and https://github.com/o/r/issues/5",
    "Fixes: octo-org/weather@0123456789abcdef0123456789abcdef01234567",
    "![beacon](https://evil.example/x.png) [link](javascript:alert) <https://evil.example> www.evil.example",
    "<img src=x onerror=alert(1)><details><!-- autobuild:1 x 1/1/review -->",
    "<!--\nhidden\n-->",
    "```\ncode\n```\n@octocat\n~~~\n#1",
    "````suggestion\nrm -rf\n````",
    "`a`@octocat`b`#1``c`` `unclosed @octocat",
    "``` ` `` @octocat `#1`",
    "\\`@octocat\\` \\#1 &#64;octocat &commat;octocat",
    "# heading\n> quote\n- item\n1. one\n===\n---\n| a | b |\n|---|---|\n| c | d |",
    "a\n:--\nb\n- - -\n* * *\n+ x\n12) y",
    "\u202egnp.exe\u202c \u200b@\u200boctocat zero\u200dwidth \u2066iso\u2069 \ufeff",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07click\x1b]8;;\x07 \x00\x07\x08",
    "$x$ $$y$$ $`z`$ costs $5",
    "[^1] [x]: http://evil.example 'title'\n[x]",
    "**bold** _em_ __strong__ ~~gone~~ snake_case a*b",
    "@\u00adoctocat #\u200d12 ht\u200btps://evil.example",
    "line\u2028# separator\x85> next\r> lone",
    "\ud800 lone surrogate \U000e0041 tag",
    "#12a@octocat #12https://evil.example 1https://evil.example",
    "trailing backslash \\",
]
foreign = st.one_of(
    st.text(),
    st.text(alphabet=st.sampled_from("`~#@<>[]()!*_-+=|\\&;:/. \n\t1aAgGhH-0$wx"), max_size=60),
    st.lists(st.sampled_from([*HOSTILE, "`", "``", "```", "\n", " ", "a"]), max_size=6).map("".join),
)
thorough = settings(deadline=None, database=None, derandomize=True, max_examples=300)
hostile = pytest.mark.parametrize("words", HOSTILE)


def leaves(tokens: list[Token]) -> list[Token]:
    return [leaf for token in tokens for leaf in (leaves(token.children) if token.children else [token])]


def assert_harmless(made: str, allowed: set[str] = HARMLESS) -> None:
    tokens = PARSER.parse(made)
    flat = [*tokens, *leaves(tokens)]
    assert {token.type for token in flat} <= allowed, made
    for token in flat:
        if token.type == "text":
            assert not LIVE.search(token.content), made
        if token.type == "fence":
            assert token.info.strip().split(" ")[0] not in {"suggestion", "mermaid", "math"}
    assert "<!--" not in made
    assert not hidden(made), made
    made.encode()


def hidden(made: str) -> list[str]:
    """Controls, bidirectional and zero-width characters."""
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        char
        for char in made
        if (unicodedata.category(char) == "Cc" and char not in "\n\t")
        or unicodedata.bidirectional(char) in bidi
        or char in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"
    ]


# --- one line ---------------------------------------------------------------------------------------


@given(foreign)
@thorough
def test_a_line_of_foreign_text_holds_nothing_live(words: str) -> None:
    assert_harmless(text.inline(words, 500), {"paragraph_open", "paragraph_close", "inline", "text", "code_inline"})


@hostile
def test_a_line_of_each_hostile_text_holds_nothing_live(words: str) -> None:
    assert_harmless(text.inline(words, 500))


@given(foreign)
@thorough
def test_a_cell_stays_in_its_cell(words: str) -> None:
    made = text.table(("a", "b"), [(text.cell(words, 200), text.cell_code(words, 200))])
    tokens = PARSER.parse(made)
    assert sum(token.type == "td_open" for token in tokens) == 2
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == 2
    for leaf in leaves(tokens):
        assert leaf.type != "text" or not LIVE.search(leaf.content)


@given(foreign)
@thorough
def test_a_code_span_is_one_closed_code_span(words: str) -> None:
    found = [leaf for leaf in leaves(PARSER.parse(f"a {text.code(words, 300)} b")) if leaf.content]
    shown = [(leaf.type, leaf.content) for leaf in found]
    if shown != [("text", "a (empty) b")]:
        assert [shown[0], shown[2]] == [("text", "a "), ("text", " b")]
        assert shown[1][0] == "code_inline"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("Call `parse()` in snake_case.py, twice.", "Call `parse()` in snake_case.py, twice."),
        ("See (#12).", "See (`#12`)."),
        ("Thanks @ana!", "Thanks `@ana`!"),
        ("a < b && c > d", "a &lt; b && c > d"),
        ("two\nlines", "two lines"),
        ("- not a list", "\\- not a list"),
        ("3. not a list", "3\\. not a list"),
        ("costs $5", "costs `$5`"),
        ("<!-- x -->", "&lt;!-- x -->"),
        ("`<!-- x -->`", "`<! -- x -->`"),
        ("a | b", "a \\| b"),
        ("", ""),
    ],
)
def test_ordinary_words_stay_readable(words: str, made: str) -> None:
    assert text.inline(words, 100) == made


def test_a_long_line_is_cut_and_says_so() -> None:
    assert text.inline("word " * 100, 20) == "word word word word…"


@given(foreign)
@thorough
def test_plain_text_has_no_mention_no_reference_and_no_link(words: str) -> None:
    made = text.plain(words, 100)
    assert len(made) <= 100
    assert "\n" not in made
    assert not re.search(r"@\S|#[0-9]|://|(?<![a-z0-9])gh-[0-9]|<!--|`", made, re.IGNORECASE)
    assert not hidden(made)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("Fixes #12 for @ana", "Fixes 12 for ana"),
        ("closes octo-org/weather#3", "closes octo-org/weather 3"),
        ("see https://github.com/o/r/issues/1", "see github.com/o/r/issues/1"),
        ("Docs [skip ci]", "Docs skip ci"),
        ("GH-7: C# support for 10000000 rows", "GH 7: C# support for 10000000 rows"),
        ("@#@12", "12"),
        ("#`1", "1"),
    ],
)
def test_plain_text_keeps_the_words(words: str, made: str) -> None:
    assert text.plain(words, 100) == made


# --- several lines ----------------------------------------------------------------------------------


@given(foreign)
@thorough
def test_a_block_of_foreign_text_holds_nothing_live(words: str) -> None:
    assert_harmless(text.block(words, 1000))


@hostile
def test_a_block_of_each_hostile_text_holds_nothing_live(words: str) -> None:
    assert_harmless(text.block(words, 1000))


@given(foreign)
@thorough
def test_a_block_does_not_reach_into_what_follows(words: str) -> None:
    tokens = PARSER.parse(f"{text.block(words, 1000)}\n\n## After")
    assert [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]


def test_a_block_keeps_paragraphs_lists_and_code() -> None:
    words = "First, see `a`.\n\nThen:\n- one\n  * two\n1. three\n\n```python\nx = '@ana #1'\n```\nEnd."
    assert text.block(words, 500) == (
        "First, see `a`.\n\nThen:\n- one\n- two\n1. three\n\n```python\nx = '@ana #1'\n```\n\nEnd."
    )


@given(foreign, st.integers(min_value=40, max_value=400))
@thorough
def test_a_fence_holds_everything_and_is_closed(words: str, limit: int) -> None:
    tokens = PARSER.parse(f"{text.fenced(words, limit, 'text')}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert "<!--" not in tokens[0].content
    assert not hidden(tokens[0].content)
    assert len(tokens[0].content) <= limit + 60


def test_a_fence_shows_head_and_tail_and_says_what_is_missing() -> None:
    made = text.fenced("a" * 500 + "b" * 500, 100)
    assert "[… 900 characters left out …]" in made
    assert made.count("a") - "characters left out".count("a") == 25
    assert made.count("b") == 75


def test_hidden_characters_in_evidence_are_spelt_out_and_colours_are_gone() -> None:
    made = text.fenced("\x1b[31mred\x1b[0m \u202eevil\x07\r\nnext", 100)
    assert made == "```\nred \\u202eevil\\x07\nnext\n```"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
@example("```\n````\n")
@example("<b>&amp;\n\n")
@thorough
def test_a_suggestion_is_exactly_the_text(words: str) -> None:
    (token,) = PARSER.parse(text.suggestion(words))
    assert token.type == "fence"
    assert token.info == "suggestion"
    assert token.content.removesuffix("\n") == words.removesuffix("\n").replace("\x00", "\ufffd")


@pytest.mark.parametrize(
    "words",
    ["\u202e", "a\x1b[0m", "a\rb", "\ud800", "x" * 10_001, "<!-- autobuild:1 a 1/1/review -->", "\u200b"],
)
def test_a_text_with_something_hidden_is_not_offered_for_one_click(words: str) -> None:
    assert not text.suggestible(words)


@pytest.mark.parametrize("words", ["", "x = 1\n\ty\r\n", "<!-- a comment of HTML -->", "naïve ✔"])
def test_an_ordinary_text_is_offered_for_one_click(words: str) -> None:
    assert text.suggestible(words)


# --- whole texts ------------------------------------------------------------------------------------

MARKER = "<!-- autobuild:1 id 1/1/review -->"


@given(
    st.lists(
        st.sampled_from(
            [
                "<details><summary>x</summary>",
                "</details>",
                "```text",
                "```",
                "~~~~",
                "````",
                "words " * 20,
                "",
            ]
        ),
        max_size=60,
    ),
    st.integers(min_value=600, max_value=3000),
)
@thorough
def test_a_cut_body_is_short_enough_closed_and_keeps_its_marker(lines: list[str], limit: int) -> None:
    body = "\n\n".join([*lines, *["filler"] * 500, MARKER])
    made = text.cut(body, limit)
    assert len(made) <= limit
    assert made.split("\n")[-1] == MARKER
    assert "characters are left out here._" in made.split("\n")[-3]
    kinds = [token.type for token in PARSER.parse(made)]
    assert kinds[-4:] == ["paragraph_open", "inline", "paragraph_close", "html_block"]


def test_a_cut_closes_the_fold_and_the_fence_in_it() -> None:
    body = "<details>\n\n````text\n```\n" + "line\n" * 1000 + "````\n\n</details>"
    made = text.cut(body, 1000)
    assert "line\n````\n\n</details>\n\n_This text was too long: " in made


def test_a_short_body_is_left_alone() -> None:
    assert text.cut("short", 100) == "short"


COMMANDS = [
    *("set-output", "set-env", "add-path", "add-mask", "add-matcher", "remove-matcher", "error", "warning"),
    *("group", "stop-commands", "save-state"),
]


def obeyed(line: str) -> bool:
    """What the runner takes for a command (facts/container.md)."""
    return line.strip().startswith("::") or "##[" in line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("before", ["", "  \t", "\x1b[0m", "text\r", "\u200b", "\x00 ", "\ufeff", "text\u2028"])
def test_no_log_command_is_obeyed(command: str, before: str) -> None:
    for words in (f"{before}::{command} x=y::z", f"{before}##[{command}]z", f"a #\x1b[1m#\u200b[{command}]z"):
        assert not any(obeyed(line) for line in re.split(r"[\r\n\x85\u2028\u2029]", text.log_safe(words)))


@given(foreign, st.sampled_from(["", "::", "##[", "#", ":"]))
@thorough
def test_no_line_of_any_text_is_a_log_command(words: str, more: str) -> None:
    made = text.log_safe(f"{more}{words}\n{more}{words}")
    assert not any(obeyed(line) for line in re.split(r"[\r\n\x85\u2028\u2029]", made))
    assert not hidden(made)
    made.encode()


def test_a_log_line_stays_readable() -> None:
    assert text.log_safe("ok\n  ::add-mask::x\n##[group]y") == "ok\n  : :add-mask::x\n## [group]y"

"""An issue becomes a contract: its criteria, its front matter, and nothing that people could not see."""

import hashlib

import hypothesis
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autobuild_action.errors import ClarificationError, ConfigurationError
from autobuild_action.model import Criterion, Mode, Task, TaskType
from autobuild_action.task import freeze, render_contract, visible

NO_TYPE = "`type` must be one of feature, bugfix, refactor, testing, documentation, scaffolding, not `epic`"
TOO_MANY = (
    "- it has 101 acceptance criteria, and 100 is the most: split the issue, or put a shorter checklist "
    "under a heading `Acceptance criteria`"
)


def criteria(body: str) -> list[str]:
    return [criterion.text for criterion in freeze("T", body).criteria]


def faults(body: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        freeze("T", body)
    first, *rest = caught.value.what.split("\n")
    assert first == "The issue can't be taken as it is:"
    assert caught.value.cure == "Edit the issue, then comment `/autobuild retry`."
    return rest


# --- the contract -----------------------------------------------------------------------------------


def test_the_contract_holds_title_body_and_numbered_criteria() -> None:
    task = freeze("Add  a flag", "Why not.\r\n\r\n## Acceptance criteria\r\n- [ ] `--x` works\r\n- [x] documented\r\n")
    assert task == Task(
        title="Add a flag",
        text=(
            "# Add a flag\n\nWhy not.\n\n## Acceptance criteria\n- [ ] `--x` works\n- [x] documented\n\n"
            "## Acceptance criteria\n\nAC-1: `--x` works\nAC-2: documented\n"
        ),
        criteria=(Criterion(id="AC-1", text="`--x` works"), Criterion(id="AC-2", text="documented")),
        sha256=task.sha256,
    )


def test_the_digest_is_that_of_the_raw_title_and_body() -> None:
    assert freeze("A  title", "---\ntype: bugfix\n---\r\nx <!-- y -->").sha256 == (
        hashlib.sha256(b"A  title\n---\ntype: bugfix\n---\r\nx <!-- y -->").hexdigest()
    )


def test_the_front_matter_is_not_part_of_the_text() -> None:
    assert freeze("T", "---\ntype: bugfix\n---\nDo it.").text == (
        "# T\n\nDo it.\n\n## Acceptance criteria\n\nAC-1: Do it.\n"
    )


def test_a_long_body_is_cut_and_says_so_while_the_criteria_stay_whole() -> None:
    task = freeze("T", "x" * 40_000 + "\n\n- [ ] the last word\n")
    assert "xx\n\n[cut here: the issue has 40,021 characters; the criteria below are complete]\n\n## Acc" in task.text
    assert task.text.endswith("AC-1: the last word\n")
    assert task.text.count("the last word") == 1
    assert task.notes == ("the body has 40,021 characters; the agents see the first 40,000 and all criteria",)


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    assert freeze("T", "x" * 40_000).text.startswith("# T\n\n" + "x" * 40_000 + "\n\n## Acc")
    assert "cut" not in render_contract("T", "x" * 40_000, ())
    assert freeze("T", "x" * 39_988 + "\n\n- [ ] done").notes == ()


def test_a_long_criterion_is_cut_and_says_so() -> None:
    task = freeze("T", f"- [ ] {'y' * 2_001}\n- [ ] {'z' * 2_000}\n")
    assert task.criteria[0].text == "y" * 1_974 + " … [cut: 2,001 characters]"
    assert len(task.criteria[0].text) == 2_000
    assert task.criteria[1].text == "z" * 2_000
    assert task.notes == ("AC-1 has 2,001 characters and was cut to 2,000",)


@pytest.mark.parametrize("body", [None, "", "  \r\n\n", "<!-- say what you need -->", "\u200b"])
def test_an_empty_issue_stops_before_any_model_call(body: str | None) -> None:
    with pytest.raises(ClarificationError) as caught:
        freeze("T", body)
    assert caught.value.what == "The issue has no text, so there is no telling when the work is done."
    assert caught.value.cure == (
        "Write what must be true in the end, best as a checklist under a heading `Acceptance criteria`. "
        "Edit the issue, then comment `/autobuild retry`."
    )


@pytest.mark.parametrize("body", ["## Heading", "```\ncode\n```", "> a quote\n> - [ ] x", "![shot](a.png)", "---"])
def test_an_issue_that_says_nothing_to_judge_stops_too(body: str) -> None:
    with pytest.raises(ClarificationError, match=r"^The issue says nothing that could be judged"):
        freeze("T", body)


# --- criteria ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- [ ] a\n- [x] b\n- [X] c", ["a", "b", "c"]),
        ("1. [ ] a\n2. [ ] b", ["a", "b"]),
        ("* [ ] a\n+ [ ] b", ["a", "b"]),
        ("- [ ] a\n- plain, not a criterion\n- [ ] b", ["a", "b"]),
        ("- [ ] a goes\n  on here", ["a goes on here"]),
        ("- [ ] AC-3: a\n- [ ] AC-1. b\n- [ ] **AC-2:** c\n- [ ] **AC-9**: d\n- [ ] ac-4) e", list("abcde")),
        (
            "- [ ] AC-3:\n- [ ] ACDC-1: b\n- [ ] AC-5 without a mark",
            ["AC-3:", "ACDC-1: b", "AC-5 without a mark"],
        ),
        ("- [ ] AC-1: see AC-2: a", ["see AC-2: a"]),
        ("- a box [ ] inside\n- see AC-1: b", ["a box [ ] inside", "see AC-1: b"]),
        ("- [ ] [x] a\n\n  [ ] b", ["[x] a; [ ] b"]),
        ("- [ ] a  \n      b", ["a b"]),
        ("- [ ]\n- [ ] a\n- []  b\n- [-] c", ["a"]),
        ("- [ ] prints:\n  - name\n  - age\n- [ ] b", ["prints: name; age", "b"]),
        ("- [ ] a\n\n  More words.\n\n  And more\n- [ ] b", ["a; More words. And more", "b"]),
        ("- [ ] a\n  - [ ] b\n    - [x] c\n- [ ] d", ["a", "b", "c", "d"]),
        ("- [ ] a\n  - plain\n    - [ ] b", ["a; plain", "b"]),
        ("- group\n  - [ ] a\n  - [ ] b", ["a", "b"]),
        ("- [ ] prints\n  ```\n  - [ ] no\n  ```", ["prints (see the code in the text above)"]),
        ("- [ ] a\n  > - [ ] no", ["a"]),
        ("```\n- [ ] no\n```\n\n    - [ ] no\n\n> - [ ] no\n\n<!--\n- [ ] no\n-->\n\n- [ ] a", ["a"]),
        ("<details>\n<summary>S</summary>\n\n- [ ] a\n\n</details>", ["a"]),
        ("- [ ] a\n\n## Acceptance criteria\n- [ ] b\n\n### Part\n- [ ] c\n\n## Notes\n- [ ] d", ["b", "c"]),
        ("# ACCEPTANCE CRITERIA for us\n- [ ] b\n# Other\n- [ ] d", ["b"]),
        ("Acceptance criteria\n---\n- [ ] b\n\nOther\n===\n- [ ] d", ["b"]),
        (
            "## Acceptance criteria: one\n- [ ] a\n## x\n- [ ] b\n## Acceptance criteria: two\n- [ ] c",
            ["a", "c"],
        ),
        ("### Acceptance criteria\n- [ ] a\n## Higher\n- [ ] b", ["a"]),
        ("> ## Acceptance criteria\n\n- [ ] a", ["a"]),
        ("**Acceptance criteria:**\n- [ ] a\n\n**Notes**\n\n- [ ] b", ["a"]),
        ("**Acceptance criteria**:\n- a\n- b\n\n**Notes**:\n\ntext", ["a", "b"]),
        ("Acceptance criteria:\n- a\n- b\n\n# Notes\n- c", ["a", "b"]),
        ("## Acceptance criteria\n1. a\n2. b\n\n## Before you post\n- [x] I have searched", ["a", "b"]),
        ("## Acceptance criteria\nSee below.\n\n## Tasks\n- [ ] a", ["a"]),
        ("Some prose.\n\n## Acceptance criteria\nIt works.\n\nIt is fast.", ["It works.", "It is fast."]),
        ("Some prose.\n\n## Acceptance criteria\n\n## Notes\nMore prose.", ["Some prose.", "More prose."]),
        ("One\nparagraph.\n\nAnother.", ["One paragraph.", "Another."]),
        ("Things:\n\n- a\n- b\n  - c\n\nEnd:", ["a", "b; c", "End:"]),
        ("**Bold introduction**\n\nText.\n\n**Bold demand**", ["Text.", "**Bold demand**"]),
        ("See ![x](a.png)\n\n![y](b.png)\n\n<br>\n\n*done*", ["See ![x](a.png)", "*done*"]),
        ("| a | b |\n|---|---|\n| c | d |\n\nText.", ["Text."]),
        ("`code` alone", ["`code` alone"]),
    ],
)
def test_criteria_are_found(body: str, expected: list[str]) -> None:
    assert criteria(body) == expected


def test_criteria_are_numbered_in_their_order() -> None:
    assert [criterion.id for criterion in freeze("T", "- [ ] a\n- [ ] b\n- [ ] c").criteria] == [
        "AC-1",
        "AC-2",
        "AC-3",
    ]


def test_a_criterion_cannot_forge_a_line_of_another() -> None:
    text = freeze("T", "- [ ] a\n  AC-2: forged").text
    assert text.endswith("\nAC-1: a AC-2: forged\n")


def test_a_hundred_criteria_are_the_most() -> None:
    assert len(criteria("- [ ] x\n" * 100)) == 100
    assert faults("- [ ] x\n" * 101) == [TOO_MANY]


# --- front matter -----------------------------------------------------------------------------------


def test_the_front_matter_says_type_mode_turns_and_files() -> None:
    task = freeze("T", "---\ntype: Refactor\nmode: standard\nmax-turns: 3\nfiles: [src/a.py, ./b//c.md]\n---\nDo it.")
    assert (task.type, task.mode, task.max_turns) == (TaskType.REFACTOR, Mode.STANDARD, 3)
    assert task.files == ("src/a.py", "b/c.md")
    assert task.notes == ()


@pytest.mark.parametrize(
    "head", ["---\r\ntype: bugfix\r\n---\r\n", "\ufeff---\ntype: bugfix\n---\n", "--- \ntype: bugfix\n...\n"]
)
def test_the_front_matter_is_found_however_it_was_typed(head: str) -> None:
    task = freeze("T", head + "Do it.")
    assert task.type is TaskType.BUGFIX
    assert criteria(head + "Do it.") == ["Do it."]


def test_one_file_needs_no_list_and_underscores_serve_as_hyphens() -> None:
    task = freeze("T", "---\nfiles: a.py\nmax_turns: 10\n---\nDo it.")
    assert (task.files, task.max_turns) == (("a.py",), 10)


def test_what_the_front_matter_cannot_say_is_ignored_with_one_note() -> None:
    task = freeze(
        "T",
        "---\nid: X-1\npriority: high\ntags: [a]\ncheck-command: rm -rf /\ncreated: 2026-13-45\n---\nDo it.",
    )
    names = "`check-command, created, id, priority, tags`"
    assert task.notes == (f"only type, mode, max-turns and files count in the front matter; ignored: {names}",)
    assert "rm -rf" not in task.text


def test_the_bounds_of_the_front_matter_are_included() -> None:
    paths = ", ".join(f"f{n}" for n in range(49))
    task = freeze("T", f"---\nMax-Turns: 1\nfiles: [{paths}, {'a' * 300}]\n---\nDo it.")
    assert task.max_turns == 1
    assert len(task.files) == 50
    assert task.files[-1] == "a" * 300


@pytest.mark.parametrize("head", ["---\n---\n", "---\n# nothing yet\n---\n"])
def test_an_empty_front_matter_is_taken_away(head: str) -> None:
    assert freeze("T", head + "Do it.").text == "# T\n\nDo it.\n\n## Acceptance criteria\n\nAC-1: Do it.\n"


@pytest.mark.parametrize("words", ["Do it.", "42", "true"])
def test_words_between_rules_stay_in_the_text(words: str) -> None:
    assert freeze("T", f"---\n{words}\n\n---\nx").text.startswith(f"# T\n\n---\n{words}\n\n---\nx\n")


def test_without_front_matter_nothing_is_set() -> None:
    task = freeze("T", "Do it.")
    assert (task.type, task.mode, task.max_turns, task.files) == (TaskType.FEATURE, None, None, ())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("---\nDo it.", ["Do it."]),
        ("---\nDo it.\n\n---\nAnd that.", ["And that."]),
        ("Do it.\n\n---\ntype: nonsense\n\n---\n", ["Do it.", "type: nonsense"]),
        (" ---\ntype: nonsense\n\n---\n", ["type: nonsense"]),
        ("---\n---\nDo it.", ["Do it."]),
        ("---\n# only a comment\n---\nDo it.", ["Do it."]),
    ],
)
def test_rules_around_text_are_not_taken_for_front_matter(body: str, expected: list[str]) -> None:
    assert criteria(body)[-1:] == expected[-1:]
    assert freeze("T", body).type is TaskType.FEATURE


@pytest.mark.parametrize(
    ("yaml", "fault"),
    [
        (
            "type: epic",
            NO_TYPE,
        ),
        ("mode: yolo", "`mode` must be one of tdd, standard, not `yolo`"),
        ("max-turns: 0", "`max-turns` must be a whole number from 1 to 10, not `0`"),
        ("max-turns: 11", "`max-turns` must be a whole number from 1 to 10, not `11`"),
        ("max-turns: true", "`max-turns` must be a whole number from 1 to 10, not `True`"),
        ("max-turns: 2.5", "`max-turns` must be a whole number from 1 to 10, not `2.5`"),
        ("max-turns: many", "`max-turns` must be a whole number from 1 to 10, not `many`"),
        ("files: [a, 5]", "`files` must name files by paths inside the repository, not `5`"),
        ("files: /etc/passwd", "`files` must name files by paths inside the repository, not `/etc/passwd`"),
        ("files: a/../../b", "`files` must name files by paths inside the repository, not `a/../../b`"),
        ("files: ~/x", "`files` must name files by paths inside the repository, not `~/x`"),
        ("files: 'C:\\x'", "`files` must name files by paths inside the repository, not `C:\\x`"),
        ("files: a\\b", "`files` must name files by paths inside the repository, not `a\\b`"),
        ("files: .GIT/config", "`files` must name files by paths inside the repository, not `.GIT/config`"),
        ("files: .", "`files` must name files by paths inside the repository, not `.`"),
        ("files: ''", "`files` must name files by paths inside the repository, not (empty)"),
        ("files: ' a'", "`files` must name files by paths inside the repository, not `a`"),
        ("files: a\u202eb", "`files` must name files by paths inside the repository, not `a\\u202eb`"),
        (f"files: {'a' * 301}", f"`files` must name files by paths inside the repository, not `{'a' * 59}…`"),
        (f"files: [{'a, ' * 51}]", "`files` names 51 files, and 50 is the most"),
        ("files: {a: b}", "`files` must name files by paths inside the repository, not `{'a': 'b'}`"),
        ("type: [", "line 2: expected the node content, but found '<stream end>'"),
        ("type: bugfix\ntype: feature", "line 3: `type` is given twice"),
        ("a: &x 1\nb: *x", "line 2: anchors and aliases (`&`, `*`) have no place here"),
        ("a: !!python/object:os.system x", "line 2: tags (`!`) have no place here"),
        ("- a", "it is a list; write `name: value` lines"),
    ],
)
def test_a_fault_of_the_front_matter_is_named(yaml: str, fault: str) -> None:
    assert faults(f"---\n{yaml}\n---\nDo it.") == [f"- front matter: {fault}"]


def test_all_faults_are_named_at_once() -> None:
    assert faults("---\ntype: epic\nmax-turns: 99\nmode: yolo\nfiles: [/a, b, ../c]\n---\n" + "- [ ] x\n" * 101) == [
        f"- front matter: {NO_TYPE}",
        "- front matter: `mode` must be one of tdd, standard, not `yolo`",
        "- front matter: `max-turns` must be a whole number from 1 to 10, not `99`",
        "- front matter: `files` must name files by paths inside the repository, not `/a`",
        "- front matter: `files` must name files by paths inside the repository, not `../c`",
        TOO_MANY,
    ]


def test_wrong_front_matter_is_named_even_where_the_issue_has_no_text() -> None:
    assert faults("---\nmode: yolo\n---\n") == ["- front matter: `mode` must be one of tdd, standard, not `yolo`"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["autobuild", "type:bugfix"], TaskType.BUGFIX),
        (["Type: Documentation"], TaskType.DOCUMENTATION),
        (["type: bug"], TaskType.BUGFIX),
        (["type:docs", "type:bug"], TaskType.DOCUMENTATION),
        (["type:epic", "type:refactor"], TaskType.REFACTOR),
        (["bug", "kind:bugfix", "type", "type:"], TaskType.FEATURE),
    ],
)
def test_a_label_gives_the_type(labels: list[str], expected: TaskType) -> None:
    assert freeze("T", "Do it.", labels=labels).type is expected


def test_the_front_matter_beats_a_label() -> None:
    assert freeze("T", "---\ntype: testing\n---\nDo it.", labels=["type:bugfix"]).type is TaskType.TESTING


# --- hidden text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hidden",
    [
        "a <!-- SECRET --> b",
        "<!-- SECRET -->",
        "<!--\nSECRET\n\nSECRET\n-->",
        "- item\n  <!-- SECRET\n  SECRET -->",
        "> quote <!-- SECRET\n> SECRET --> end",
        "> <!--\n> SECRET\n> -->",
        "- a\n\n\t<!-- x\n\tSECRET -->",
        "text <!-- x   \n   SECRET --> end",
        "<details>\n<!-- SECRET -->\n</details>",
        "<div>\n<!-- never closed SECRET",
        "<!-- never closed\n\nSECRET\n\n- [ ] SECRET",
        "<div>\n<!-- open\n\nSECRET in a paragraph\n\nSECRET --> still hidden, since this is text",
        "- <!-- open\n\nSECRET outside of the item",
        "| a |\n|---|\n| b <!-- x \\| SECRET --> |",
        "# Head <!-- SECRET -->",
        "<? SECRET ?> x",
        "x <![CDATA[ SECRET ]]> y",
        "x <!ELEMENT SECRET> y",
        "<!-- a --> b <!-- SECRET --> c <!-- SECRET\n-->",
        "<!-- x --\u200b> SECRET --> y",
        "<!\u200b-- x --> y <!-- SECRET -->",
        "[//]: # (SECRET)",
        "[comment]: <> (SECRET)",
        "[a]: http://x.y\n[a]: http://x.y/SECRET",
        "[^1]: SECRET note\n    SECRET going on",
        "[^1]: SECRET note\n[^2]: SECRET note\n\n    SECRET going on",
        *("> " * depth + "<!-- SECRET -->" for depth in (17, 18, 19, 20, 21, 22, 40)),
        *("- " * depth + "<!-- SECRET -->" for depth in (8, 9, 10, 11, 12)),
        "[^1]: SECRET note\n  \n    SECRET going on",
        "`<!-- a -->` <!-- a --> <!-- SECRET -->",
    ],
)
def test_what_people_do_not_see_the_agents_do_not_see(hidden: str) -> None:
    task = freeze("T", f"Do it.\n\n{hidden}")
    assert "SECRET" not in task.text
    assert task.notes[-1].startswith("hidden text was removed: `")


@pytest.mark.parametrize(
    "shown",
    [
        "`<!-- x -->` in code",
        "```html\n<!-- x -->\n```",
        "    <!-- x -->",
        "\\<!-- x -->",
        "a < b <! c",
        "text <!-- not closed",
        "see [docs] and ![i][pic]\n\n[docs]: http://x.y\n[pic]: a.png",
        "```\n[^1]: not a note\n```",
        "as said[^1]\n\n[^1]: a note",
        "Good ❤️ and ⚠️ ahead, naïve 日本語",
        "<kbd>Ctrl</kbd> <details>\n\nx\n\n</details>",
        "tab\there",
    ],
)
def test_what_people_see_stays_as_it_is(shown: str) -> None:
    text = f"Do it.\n\n{shown}"
    assert visible(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "clean", "removed"),
    [
        (
            "a <!-- 1\n2 --> b <!-- 3 --> c\n\n<!-- 4\n\n5 -->\nd <!-- 6 -->",
            "a  b  c\n\n\nd",
            ("<!-- 1\n2 -->", "<!-- 3 -->", "<!-- 4\n\n5 -->", "<!-- 6 -->"),
        ),
        ("Text\n[^1]: x\n\nNext\n\n[//]: # (y)", "Text\n\nNext", ("[^1]: x", "[//]: # (y)")),
        ("`<!-- a -->` <!-- b --> c <!-- b -->", "`<!-- a -->`  c", ("<!-- b -->", "<!-- b -->")),
        ("1. `<!-- a -->` <!-- b\n\t  c --> d", "1. `<!-- a -->`  d", ("<!-- b\n   c -->",)),
    ],
)
def test_what_is_removed_is_named_in_order_and_nothing_else_goes(
    text: str, clean: str, removed: tuple[str, ...]
) -> None:
    assert visible(text) == (clean, removed)


@pytest.mark.parametrize(
    ("text", "clean", "removed"),
    [
        ("a\u200bb\u200bc", "abc", ("U+200B × 2",)),
        ("a\u202eb\u2066c", "abc", ("U+202E × 1", "U+2066 × 1")),
        ("a\U000e0041\U000e0042", "a", ("U+E0041 × 1", "U+E0042 × 1")),
        ("a\ufe0f\ufe0f\ufe0fb", "a\ufe0fb", ("U+FE0F × 2",)),
        ("a\U000e0100b\ufe00", "ab", ("U+E0100 × 1", "U+FE00 × 1")),
        ("a\x00b\x1b[31mc\x7f", "ab[31mc", ("U+0000 × 1", "U+001B × 1", "U+007F × 1")),
        ("a\u3164b\u00adc", "abc", ("U+3164 × 1", "U+00AD × 1")),
        ("a\ud800b", "ab", ("U+D800 × 1",)),
    ],
)
def test_invisible_characters_are_removed_and_named(text: str, clean: str, removed: tuple[str, ...]) -> None:
    assert visible(text) == (clean, removed)


def test_invisible_characters_are_removed_from_the_title_where_a_comment_would_be_visible() -> None:
    task = freeze("A\u200b title <!-- shown -->", "Do it.")
    assert task.title == "A title <!-- shown -->"
    assert task.notes == ("hidden text was removed: `U+200B × 1`",)


def test_an_invisible_title_gets_a_name() -> None:
    assert freeze("\u200b", "Do it.").text.startswith("# (no title)\n")


def test_the_note_on_hidden_text_is_short_and_inert() -> None:
    (note,) = freeze("T", f"Do it. <!-- `@team` closes #1\n{'y' * 500} -->").notes
    assert note.startswith("hidden text was removed: ``<! -- `@team` closes #1 yyy")
    assert note.endswith("yyy…``")
    assert note.count("y") == 200 - len("<!-- `@team` closes #1 …")


def test_freezing_twice_gives_the_same() -> None:
    body = "---\ntype: bugfix\n---\na <!-- b -->\u200b\n- [ ] c"
    assert freeze("T", body) == freeze("T", body)


PIECES = st.sampled_from(
    (
        *("---\n", "type: bugfix\n", "- [ ] ", "- ", "  ", "\n", "\n\n", "# ", "Acceptance criteria", "word"),
        *("<!--", "-->", "<div>", "<?", "`", "```\n", "> ", "|", "**", "AC-1: ", "[a]: ", "[^1]:"),
        *("\u200b", "\ud800", "\r\n", "\t"),
    )
)


@hypothesis.settings(deadline=None)  # machines differ
@given(title=st.text(), body=st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
@example(title="", body="---\n: \n---\n")
def test_freezing_gives_a_sound_task_or_says_what_to_do(title: str, body: str) -> None:
    try:
        task = freeze(title, body)
    except (ClarificationError, ConfigurationError):
        return  # said, not crashed
    assert 1 <= len(task.criteria) <= 100
    for number, criterion in enumerate(task.criteria, start=1):
        assert criterion.id == f"AC-{number}"
        assert criterion.text.strip()
        assert "\n" not in criterion.text
        assert f"\nAC-{number}: {criterion.text}\n" in task.text
    task.text.encode()


@hypothesis.settings(deadline=None)  # machines differ
@given(
    before=st.lists(PIECES, max_size=6).map("".join),
    after=st.lists(PIECES, max_size=6).map("".join),
    indent=st.sampled_from(["", "> ", "- ", "  ", "- [ ] ", "# ", "a "]),
)
def test_a_comment_of_its_own_is_hidden_wherever_it_stands(before: str, after: str, indent: str) -> None:
    lead = "" if "```" in before or "`" in before else before  # in code a comment is shown, and stays
    text, _ = visible(f"{lead}\n\n{indent}<!-- SECRET -->\n\n{after}")
    assert "SECRET" not in text

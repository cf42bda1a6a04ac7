"""A review comment may be on the lines of a diff's hunks, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autobuild_action.lines import commentable

TWO = """diff --git a/src/weather.py b/src/weather.py
index 1111111..2222222 100644
--- a/src/weather.py
+++ b/src/weather.py
@@ -1,4 +1,5 @@ def main():
 a
+b
 c
 d
 e
@@ -20,7 +21,6 @@
 f
 g
 h
-i
 j
 k
 l
diff --git a/new.py b/new.py
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+x
+y
"""

RENAMED = """diff --git a/old.py b/new.py
similarity index 90%
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -1 +1 @@
-a
+b
"""


def changed(header: str, *body: str) -> str:
    return "\n".join(["diff --git a/x b/x", header, *body, ""])


def test_each_hunk_is_a_range_of_lines_of_the_new_file() -> None:
    assert commentable(TWO) == {"src/weather.py": (range(1, 6), range(21, 27)), "new.py": (range(1, 3),)}


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("", {}),
        ("not a diff\nat all", {}),
        (changed("--- a/x\n+++ b/x", "@@ -3 +3 @@", "-a", "+b"), {"x": (range(3, 4),)}),
        (changed("deleted file mode 100644\n--- a/x\n+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", "-b"), {}),
        (
            changed("--- a/x\n+++ b/x", "@@ -1,2 +1,2 @@", " a", "-b", "+c", "\\ No newline at end of file"),
            {"x": (range(1, 3),)},
        ),
        (changed("--- a/x\n+++ b/x", "@@ -3,2 +2,0 @@", "-a", "-b", "@@ -9 +7 @@", "-c", "+d"), {"x": (range(7, 8),)}),
        (changed("index 1..2 100644", "Binary files a/x and b/x differ"), {"x": ()}),
        (changed("new file mode 100644\nindex 0..1"), {"x": ()}),
        (RENAMED, {"new.py": (range(1, 2),)}),
        (changed("--- a/x\n+++ b/x", "@@ -1,9 +1,9 @@", " a"), {}),
        (changed("--- a/x\n+++ b/x", "@@ -1 +1 @@", "-a", "+b", "+c"), {"x": (range(1, 2),)}),
    ],
    ids=[
        "empty",
        "prose",
        "one line",
        "deleted",
        "no newline",
        "no line left",
        "binary",
        "empty file",
        "renamed",
        "cut",
        "too long",
    ],
)
def test_every_kind_of_change(diff: str, expected: dict[str, tuple[range, ...]]) -> None:
    assert commentable(diff) == expected


@pytest.mark.parametrize(
    "inside", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\r", "\x00", "\ufffd", "+++ b/y", "-- a"]
)
def test_odd_characters_and_lines_that_look_like_headers_do_not_shift_the_lines(inside: str) -> None:
    diff = changed("--- a/x\n+++ b/x", "@@ -1,2 +1,3 @@", " a", f"+b{inside}c", f" {inside}")
    assert commentable(diff) == {"x": (range(1, 4),)}
    assert commentable(changed("--- a/x\n+++ b/x", "@@ -1,2 +1,3 @@", " a", f"+{inside}", " b")) == {
        "x": (range(1, 4),)
    }


LINES = st.sampled_from(
    [*TWO.splitlines(), "@@ -1 +1 @@", "+", "-", " ", "", "\\ No newline", "@@ -x +y @@", "--- ", "+++ "]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=12).map("\n".join) | st.text(max_size=60))
def test_no_diff_ever_raises(diff: str) -> None:
    assert all(line > 0 for found in commentable(diff).values() for lines in found for line in lines[:1])

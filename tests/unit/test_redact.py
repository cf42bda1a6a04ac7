"""A known secret leaves in no text, whatever its dress."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autobuild_action.redact import Redactor

KEY = 'sk-ant-api03-AbC+/=d e"f\\é'


def test_a_secret_is_hidden_wherever_it_stands() -> None:
    assert Redactor([KEY])(f"a{KEY}b {KEY}") == "a[redacted]b [redacted]"


def test_other_text_is_left_alone() -> None:
    assert Redactor([KEY])("nothing here: sk-ant-api03") == "nothing here: sk-ant-api03"
    assert Redactor([])("text") == "text"


def test_a_secret_in_an_address_is_hidden() -> None:
    assert Redactor([KEY])(f"https://x/?key={quote(KEY, safe='')}&y") == "https://x/?key=[redacted]&y"


def test_a_secret_in_json_is_hidden() -> None:
    assert Redactor([KEY])(json.dumps({"key": KEY})) == '{"key": "[redacted]"}'


def test_a_secret_is_hidden_in_base64_whatever_stands_before_and_after_it() -> None:
    token = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
    for before in ("", "x", "xy", "xyz", "x-access-token:"):
        for after in ("", "1", "12", "123"):
            text = base64.b64encode(f"{before}{token}{after}".encode()).decode()
            shown = Redactor([token])(f"Basic {text}.")
            assert "[redacted]" in shown
            head, _, tail = shown.removeprefix("Basic ").removesuffix(".").partition("[redacted]")
            assert len(head) <= len(before) * 4 // 3 + 2
            assert len(tail) <= len(after) * 4 // 3 + 4


def test_a_short_value_would_hide_ordinary_words_and_is_passed_over() -> None:
    assert Redactor(["", "abcdefg"])("abcdefg") == "abcdefg"
    assert Redactor(["abcdefgh"])("abcdefgh") == "[redacted]"


def test_a_secret_within_another_does_not_uncover_the_rest_of_it() -> None:
    assert Redactor(["password1", "password1-and-more"])("password1-and-more password1") == "[redacted] [redacted]"


SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40).filter(
    lambda secret: secret not in "[redacted]"
)


@settings(max_examples=150, deadline=None)
@given(st.lists(SECRETS, min_size=1, max_size=3), st.text(max_size=10), st.text(max_size=10))
def test_no_dress_of_any_secret_is_left(secrets: list[str], before: str, after: str) -> None:
    redact = Redactor(secrets)
    assume(not any(secret in "[redacted]" for secret in secrets))
    for secret in secrets:
        dresses = [secret, quote(secret, safe=""), json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()]
        for dress in dresses:
            assert dress not in redact(f"{before} {dress} {after}")

"""What the demo plays: a small repository, two issues, and what the scripted model does about them.

The model's lines are made up; what they lead to is not: the edits, the tests and the Coach's commands really happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.model import Say, Script, Session, Use, structured

CODE, TESTS = "tokens.py", "tests/test_tokens.py"
CHECK = "python3 -m unittest discover"

START = '''\
"""Access tokens: whoever holds one that has not expired is signed in."""

import secrets

LIFETIME = 15 * 60  # seconds


class Tokens:
    def __init__(self):
        self._known = {}

    def issue(self, user, now):
        """A new token for this user."""
        token = secrets.token_urlsafe(16)
        self._known[token] = (user, now + LIFETIME)
        return token

    def user_of(self, token, now):
        """Whose token it is; PermissionError if it is unknown or has expired."""
        user, ends = self._known.get(token, ("", now))
        if now >= ends:
            raise PermissionError("sign in again")
        return user
'''
START_TESTS = """\
import unittest

from tokens import LIFETIME, Tokens


class TokensTest(unittest.TestCase):
    def setUp(self):
        self.tokens = Tokens()
        self.token = self.tokens.issue("ada", now=0)

    def test_a_token_expires(self):
        self.assertEqual(self.tokens.user_of(self.token, now=LIFETIME - 1), "ada")
        with self.assertRaises(PermissionError):
            self.tokens.user_of(self.token, now=LIFETIME)
"""
FILES = {
    "README.md": "# signin\n\nAccess tokens for the shop.\n",
    ".gitignore": "__pycache__/\n",
    CODE: START,
    "tests/__init__.py": "",
    TESTS: START_TESTS,
}

REFRESH_TITLE = "Refresh access tokens, over HTTPS only"
REFRESH_BODY = """\
An access token lasts 15 minutes; then people are signed out in the middle of their work. Let a client trade \
its token for a new one.

## Acceptance criteria

- [ ] `refresh(url, token, now)` answers a new token of the same user, good for 15 minutes from `now`
- [ ] The old token is refused from then on
- [ ] A token that has expired cannot be refreshed: `PermissionError`
- [ ] Only `https://` addresses are served: any other raises `PermissionError`
"""

SIGN_OUT_TITLE = "Sign out everywhere"
SIGN_OUT_BODY = """\
---
max-turns: 1
---
Somebody lost a phone and wants all sessions ended at once.

## Acceptance criteria

- [ ] `sign_out(user)` ends every token of that user, and nobody else's
- [ ] It answers how many it ended
"""
GUIDANCE = "Collect the user's tokens first, then delete them; the answer is how many there were."
RETRY = f"/autobuild retry {GUIDANCE}"

# --- the code that the Player writes ----------------------------------------------------------------

REFRESH = '''
    def refresh(self, url, token, now):
        """Trade a token that has not expired for a new one."""
        user = self.user_of(token, now)
        del self._known[token]
        return self.issue(user, now)
'''
REFRESH_TESTS = """
    def test_a_token_is_traded_for_a_new_one(self):
        new = self.tokens.refresh("https://shop.example", self.token, now=60)
        self.assertEqual(self.tokens.user_of(new, now=60 + LIFETIME - 1), "ada")
        with self.assertRaises(PermissionError):
            self.tokens.user_of(self.token, now=60)

    def test_an_expired_token_cannot_be_refreshed(self):
        with self.assertRaises(PermissionError):
            self.tokens.refresh("https://shop.example", self.token, now=LIFETIME)
"""
TRADE = "        user = self.user_of(token, now)\n        del"
HTTPS = """\
        if not url.startswith("https://"):
            raise PermissionError("tokens travel over https only")
"""
HTTPS_TEST = """
    def test_only_https_is_served(self):
        with self.assertRaises(PermissionError):
            self.tokens.refresh("http://shop.example", self.token, now=60)
        self.assertEqual(self.tokens.user_of(self.token, now=60), "ada")
"""
SIGN_OUT = '''
    def sign_out(self, user):
        """End all tokens of this user."""
        for token, (owner, _) in self._known.items():
            if owner == user:
                del self._known[token]
'''
SIGN_OUT_FIXED = '''
    def sign_out(self, user):
        """End all tokens of this user; answers how many there were."""
        theirs = [token for token, (owner, _) in self._known.items() if owner == user]
        for token in theirs:
            del self._known[token]
        return len(theirs)
'''
SIGN_OUT_TESTS = """
    def test_sign_out_ends_all_tokens_of_one_user(self):
        second, other = self.tokens.issue("ada", now=0), self.tokens.issue("bob", now=0)
        self.assertEqual(self.tokens.sign_out("ada"), 2)
        for token in (self.token, second):
            with self.assertRaises(PermissionError):
                self.tokens.user_of(token, now=1)
        self.assertEqual(self.tokens.user_of(other, now=1), "bob")
"""

# --- what they do and say ---------------------------------------------------------------------------

PREPARE = "import tokens; t = tokens.Tokens(); a = t.issue('ada', 0)"
TRY_REFRESH = f"python3 -c \"{PREPARE}; print(t.refresh('http://shop.example', a, 1))\""
TRY_SIGN_OUT = f"python3 -c \"{PREPARE}; t.issue('ada', 0); print(t.sign_out('ada'))\""

OVERCLAIM = "Refresh is implemented, with tests for every criterion."
PLAIN_HTTP = (
    "A plain `http://` address is served: `refresh` never looks at `url`, so tokens may cross the network in the "
    "clear. In R1, `refresh('http://shop.example', …)` answered a new token."
)
CRASH = (
    "With two tokens of one user it fails: the dictionary is changed while the loop reads it (R1: "
    "`RuntimeError: dictionary changed size during iteration`). With one token it works by luck."
)


def script() -> Script:
    """Eight sessions: two turns on the first issue, one turn each before and after the retry on the second."""
    return Script(
        roles={
            "player": [_forgets_https(), _adds_https(), _breaks_sign_out(), _mends_sign_out()],
            "coach": [_finds_http(), _approves_refresh(), _finds_crash(), _approves_sign_out()],
        }
    )


def _forgets_https() -> Session:
    return Session(
        expect=[REFRESH_TITLE],
        replies=[
            [Say("First the code and its tests as they are."), _read(CODE), _read(TESTS)],
            [_write(CODE, START + REFRESH), _write(TESTS, START_TESTS + REFRESH_TESTS)],
            _report(OVERCLAIM, claims=4, tested=True),  # no test was run, and one criterion was forgotten
        ],
    )


def _finds_http() -> Session:
    line = _line(START + REFRESH, TRADE)
    return Session(
        expect=["the session ran no such command"],
        replies=[
            [Say("The checks pass. They leave something out, though: an address without TLS."), _read(CODE)],
            _run(TRY_REFRESH),
            _verdict(
                "feedback",
                "Trading tokens works and is tested. The address is never looked at, so the last criterion is open.",
                met={
                    "AC-1": [_file(CODE, START + REFRESH, "def refresh"), _check()],
                    "AC-2": [_file(CODE, START + REFRESH, "del self._known[token]"), _check()],
                    "AC-3": [_check()],
                    "AC-4": None,
                },
                issues=[
                    _issue(
                        "AC-4",
                        PLAIN_HTTP,
                        category="missing_requirement",
                        path=CODE,
                        line=line,
                        suggestion="Refuse every address that does not begin with `https://`, before the token is "
                        "touched, and test that the token outlives the refusal.",
                        replacement=HTTPS + TRADE.partition("\n")[0],
                    )
                ],
            ),
        ],
    )


def _adds_https() -> Session:
    return Session(
        expect=["A plain `http://` address is served", "the session ran no such command"],
        forbid=[OVERCLAIM],
        replies=[
            [Say("The address has to be checked before the token is touched."), _read(CODE), _read(TESTS)],
            [
                Use("Edit", {"file_path": CODE, "old_string": TRADE, "new_string": HTTPS + TRADE}),
                _write(TESTS, START_TESTS + REFRESH_TESTS + HTTPS_TEST),
            ],
            Use("Bash", {"command": CHECK}),
            _report("Only https:// is served now, with a test; the tests were run.", claims=4, tested=True),
        ],
    )


def _approves_refresh() -> Session:
    code = START + REFRESH.replace(TRADE, HTTPS + TRADE)
    return Session(
        expect=["I1.1.1"],
        forbid=[OVERCLAIM],
        replies=[
            [Say("The address that was served before, once more."), _read(CODE)],
            _run(TRY_REFRESH),
            _verdict(
                "approve",
                "Plain http:// is refused before the token is touched; all four criteria hold.",
                met={
                    "AC-1": [_file(CODE, code, "def refresh"), _check()],
                    "AC-2": [_file(CODE, code, "del self._known[token]"), _check()],
                    "AC-3": [_check()],
                    "AC-4": [_file(CODE, code, "if not url.startswith"), _tried()],
                },
                resolved="I1.1.1",
            ),
        ],
    )


def _breaks_sign_out() -> Session:
    return Session(
        expect=[SIGN_OUT_TITLE],
        replies=[
            _read(CODE),
            _write(CODE, START + SIGN_OUT),
            Use("Bash", {"command": CHECK}),
            _report("sign_out walks over the known tokens and deletes the user's.", claims=2, tested=True),
        ],
    )


def _finds_crash() -> Session:
    line = _line(START + SIGN_OUT, "        for token, (owner")
    return Session(
        replies=[
            [Say("The checks pass, but none signs anybody out. I try it with two tokens."), _read(CODE)],
            _run(TRY_SIGN_OUT),
            _verdict(
                "feedback",
                "It fails as soon as a user has two tokens, and it never says how many it ended.",
                met={"AC-1": None, "AC-2": None},
                issues=[
                    _issue("AC-1", CRASH, category="wrong_behaviour", path=CODE, line=line),
                    _issue(
                        "AC-2",
                        "It answers nothing.",
                        category="missing_requirement",
                        path=CODE,
                        line=line - 2,
                    ),
                ],
            ),
        ],
    )


def _mends_sign_out() -> Session:
    return Session(
        expect=[GUIDANCE],
        replies=[
            [Say("As advised: collect, then delete."), _read(CODE), _read(TESTS)],
            [
                Use("Edit", {"file_path": CODE, "old_string": SIGN_OUT, "new_string": SIGN_OUT_FIXED}),
                _write(TESTS, START_TESTS + SIGN_OUT_TESTS),
            ],
            Use("Bash", {"command": CHECK}),
            _report("The tokens are collected, then deleted and counted; tested.", claims=2, tested=True),
        ],
    )


def _approves_sign_out() -> Session:
    code = START + SIGN_OUT_FIXED
    return Session(
        expect=[GUIDANCE],
        replies=[
            _read(CODE),
            _run(TRY_SIGN_OUT),
            _verdict(
                "approve",
                "Two tokens end at once, and the count is right.",
                met={
                    "AC-1": [_file(CODE, code, "del self._known[token]"), _check()],
                    "AC-2": [_file(CODE, code, "return len(theirs)"), _tried()],
                },
                resolved="I1.1.1 I1.1.2",
            ),
        ],
    )


# --- the words of a script --------------------------------------------------------------------------


def _read(path: str) -> Use:
    return Use("Read", {"file_path": path})


def _write(path: str, content: str) -> Use:
    return Use("Write", {"file_path": path, "content": content})


def _run(command: str) -> Use:
    return Use("mcp__autobuild__run", {"command": command})


def _report(summary: str, *, claims: int, tested: bool) -> Use:
    return structured(
        {
            "summary": summary,
            "criteria": [{"id": f"AC-{n}", "claim": "done", "note": ""} for n in range(1, claims + 1)],
            "tests_run": [{"command": CHECK, "result": "passed"}] if tested else [],
            "concerns": [],
            "disputed": [],
        }
    )


def _verdict(
    decision: str,
    summary: str,
    *,
    met: Mapping[str, Sequence[Mapping[str, str]] | None],
    issues: Sequence[Mapping[str, Any]] = (),
    resolved: str = "",
) -> Use:
    return structured(
        {
            "decision": decision,
            "summary": summary,
            "criteria": [
                {"id": id_, "status": "met" if evidence else "not_met", "evidence": list(evidence or ())}
                for id_, evidence in met.items()
            ],
            "issues": list(issues),
            "previous": [{"issue": id_, "status": "resolved", "note": ""} for id_ in resolved.split()],
            "test_changes": [],
        }
    )


def _issue(  # noqa: PLR0913  the fields of an issue of a verdict
    criterion: str,
    description: str,
    *,
    category: str,
    path: str,
    line: int,
    suggestion: str | None = None,
    replacement: str | None = None,
) -> dict[str, Any]:
    return {
        "severity": "must_fix",
        "category": category,
        "criterion": criterion,
        "path": path,
        "line": line,
        "end_line": line,
        "description": description,
        "suggestion": suggestion,
        "replacement": replacement,
    }


def _file(path: str, text: str, part: str) -> dict[str, str]:
    return {"kind": "file", "ref": f"{path}:{_line(text, part)}", "note": ""}


def _check() -> dict[str, str]:
    return {"kind": "check", "ref": "tests", "note": ""}


def _tried() -> dict[str, str]:
    return {"kind": "run", "ref": "R1", "note": ""}


def _line(text: str, part: str) -> int:
    """The number of the line on which ``part`` begins."""
    return text[: text.index(part)].count("\n") + 1

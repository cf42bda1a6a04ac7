"""The path policy: what of a Player's tree may be committed, and what a person has to see first.

Names are compared case-folded and in Unicode NFC, since GitHub's other users have file systems that do so.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase

REFUSED = (
    (".github/**", "workflows and repository settings are changed by people only"),
    ("action.y*ml", "the definition of an action is changed by people only"),
    (".gitmodules", "submodules are not taken from an agent"),
    (".claude/**", "it configures agents"),
    (".codex/**", "it configures agents"),
    (".agents/**", "it configures agents"),
    (".cursor/**", "it configures agents"),
    (".mcp.json", "it configures agents"),
    ("gemini.md", "it instructs agents"),
    ("claude.local.md", "it instructs agents"),
    ("claude.md", "it instructs agents"),
    ("agents.md", "it instructs agents"),
    ("codeowners", "who must review is decided by people only"),
    ("docs/codeowners", "who must review is decided by people only"),
    (".husky/**", "it runs on developers' machines"),
    (".pre-commit-config.y*ml", "it runs on developers' machines"),
    (".gitlab-ci.yml", "continuous integration is changed by people only"),
    (".circleci/**", "continuous integration is changed by people only"),
    ("jenkinsfile", "continuous integration is changed by people only"),
    (".yarnrc.yml", "it decides where packages come from"),
    ("pip.conf", "it decides where packages come from"),
    (".envrc", "it runs on developers' machines"),
    (".vscode/tasks.json", "it runs on developers' machines"),
    (".devcontainer/**", "it runs on developers' machines"),
    (".npmrc", "it decides where packages come from"),
    ("bunfig.toml", "it decides where packages come from"),
)
"""Patterns that are never committed, each with its reason; they match at every depth."""

NEEDS_PERSON = (
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements*.txt",
    "uv.lock",
    "poetry.lock",
    "cargo.toml",
    "cargo.lock",
    "go.mod",
    "go.sum",
    "gemfile",
    "gemfile.lock",
    "pom.xml",
    "build.gradle*",
    "dockerfile*",
    "makefile",
    "conftest.py",
    "pytest.ini",
    "tox.ini",
    "jest.config*",
)
"""File names that are committed and shown to a person first: they change what is installed or how tests run."""

LARGEST_FILE = 10 * 2**20
LONGEST_PATH = 4000
MOST_FILES = 5000
MOST_BYTES = 50 * 2**20

_ATTRIBUTES = re.compile(rb"\b(filter|diff|merge|working-tree-encoding)=")
_GIT_LIKE = re.compile(r"^(\.git|git~\d+)[ .]*(:.*)?$", re.DOTALL)
"""What git itself takes for ``.git`` on one system or another; GitHub refuses a push that holds such a name."""
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that a Macintosh's file system passes over in names."""


def refusal(path: str) -> str | None:
    """Why this path may not be committed, None where it may."""
    folded = _fold(path)
    parts = folded.split("/")
    if any(_GIT_LIKE.match(part) for part in re.split(r"[/\\]", folded)):
        return "it belongs to a git directory"
    if len(path.encode(errors="surrogateescape")) > LONGEST_PATH:
        return f"the path is longer than {LONGEST_PATH} bytes"
    for pattern, why in REFUSED:
        if _matches(parts, pattern):
            return why
    return None


def content_refusal(path: str, content: bytes) -> str | None:
    """Why a file with this content may not be committed; only small special files need a look."""
    if _fold(path).rsplit("/", 1)[-1] == ".gitattributes" and _ATTRIBUTES.search(content):
        return "attributes that name a filter, driver or encoding are changed by people only"
    return None


def link_refusal(path: str, target: str) -> str | None:
    """Why a symbolic link may not be committed: its target must stay inside the tree."""
    if target.startswith("/"):
        return "a link to an absolute path"
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
    if up > path.count("/"):
        return "a link that leads out of the tree"
    if ".." in parts[up:]:  # the name before it may be a link itself, and lead anywhere
        return "a link with `..` behind a name"
    return None


def needs_person(path: str) -> bool:
    """True where a person should look at a change of this path before anything else."""
    name = _fold(path).rsplit("/", 1)[-1]
    return any(fnmatchcase(name, pattern) for pattern in NEEDS_PERSON)


def _matches(parts: list[str], pattern: str) -> bool:
    """``dir/**`` matches the folder at any depth and what is in it, another pattern the end of the path."""
    if pattern.endswith("/**"):
        return pattern[:-3] in parts
    wanted = pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatchcase, parts[-len(wanted) :], wanted))


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", _UNSEEN.sub("", path)).casefold()

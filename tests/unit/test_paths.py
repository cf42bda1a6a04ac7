"""The path policy refuses what people alone may change, in every spelling, and nothing that only looks like it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autobuild_action.paths import LONGEST_PATH, content_refusal, link_refusal, needs_person, refusal

PEOPLE = {
    ".github/workflows/ci.yml": "workflows and repository settings are changed by people only",
    ".github/dependabot.yml": "workflows and repository settings are changed by people only",
    ".github": "workflows and repository settings are changed by people only",
    "action.yml": "the definition of an action is changed by people only",
    "action.yaml": "the definition of an action is changed by people only",
    ".gitmodules": "submodules are not taken from an agent",
    ".claude/settings.json": "it configures agents",
    ".codex/config.toml": "it configures agents",
    ".agents/x/skill.md": "it configures agents",
    ".mcp.json": "it configures agents",
    "CLAUDE.md": "it instructs agents",
    "AGENTS.md": "it instructs agents",
    "CODEOWNERS": "who must review is decided by people only",
    ".husky/pre-commit": "it runs on developers' machines",
    ".pre-commit-config.yaml": "it runs on developers' machines",
    ".envrc": "it runs on developers' machines",
    ".vscode/tasks.json": "it runs on developers' machines",
    ".devcontainer/devcontainer.json": "it runs on developers' machines",
    ".npmrc": "it decides where packages come from",
    "bunfig.toml": "it decides where packages come from",
}
GIT = "it belongs to a git directory"
GIT_NAMES = [
    ".git",
    ".GIT",
    ".Git",
    ".git ",
    ".git.",
    ".git . .",
    ".git::$INDEX_ALLOCATION",
    ".git:stream",
    ".git .:x",
    "git~1",
    "GIT~1",
    "git~23",
    ".g\u200cit",
    ".git\ufeff",
    "\u202e.git",
    "x\\.git",
    ".git\\config",
]


@pytest.mark.parametrize("before", ["", "sub/", "a/b/c/"])
@pytest.mark.parametrize("path", PEOPLE)
def test_what_people_alone_change_is_refused_at_every_depth_with_its_reason(path: str, before: str) -> None:
    assert refusal(before + path) == PEOPLE[path]


@pytest.mark.parametrize("path", PEOPLE)
def test_it_is_refused_in_every_spelling_that_some_file_system_takes_for_the_same(path: str) -> None:
    for spelt in (path.upper(), path.lower(), path.title(), path.swapcase(), unicodedata.normalize("NFD", path)):
        assert refusal(spelt) == PEOPLE[path]
    assert refusal(path[:2] + "\u200d" + path[2:]) == PEOPLE[path]


@pytest.mark.parametrize(
    "path", [".hus\u212ay/pre-commit", "\u017fub/.envrc", ".git\u017f/../.github/x", "A\u0308/.npmrc", "\u00c4/.npmrc"]
)
def test_letters_that_fold_to_ours_are_ours(path: str) -> None:
    assert refusal(path) is not None


@pytest.mark.parametrize("before", ["", "sub/", "a/b/c/"])
@pytest.mark.parametrize("after", ["", "/config", "/hooks/pre-commit"])
@pytest.mark.parametrize("name", GIT_NAMES)
def test_what_git_takes_for_its_own_folder_is_refused_anywhere_in_a_path(name: str, before: str, after: str) -> None:
    assert refusal(before + name + after) == GIT


@pytest.mark.parametrize(
    "path",
    [
        "github/x",
        "my.github/workflows/ci.yml",
        ".githubx/ci.yml",
        "x.github",
        "docs/github.md",
        "actions.yml",
        "my-action.yml",
        "action.yml.md",
        "action.json",
        "gitmodules",
        ".gitmodules.md",
        ".gitignore",
        ".gitattributes",
        ".gitkeep",
        ".git-blame-ignore-revs",
        ".gitx/config",
        "x.git",
        "repo.git/config",
        "git/config",
        "git~",
        "git~x",
        "xgit~1",
        "claude/x.py",
        "claude.py",
        "docs/claude.md.txt",
        "docs/agents.md.txt",
        "my-agents.md",
        "agents.mdx",
        "agents.md/x",
        "mcp.json",
        ".mcp.jsonl",
        "codeowners.md",
        "husky/pre-commit",
        ".pre-commit-config.yaml.md",
        ".pre-commit-hooks.yaml",
        "envrc",
        ".env",
        ".vscode/settings.json",
        "tasks.json",
        ".vscode/x/tasks.json",
        "devcontainer/x",
        "npmrc",
        ".npmrc.md",
        "bunfig.json",
        "src/weather.py",
        "ä/ö/ü.py",
        "a b\tc\nd.py",
        "-rf",
        "$(id)",
        "\udcff.py",
    ],
)
def test_what_only_looks_like_it_is_allowed(path: str) -> None:
    assert refusal(path) is None


def test_a_path_may_be_so_long_and_no_longer() -> None:
    assert refusal("a/" * 1999 + "bc") is None
    assert refusal("a/" * 1999 + "bcd") == f"the path is longer than {LONGEST_PATH} bytes"
    assert refusal("ä" * 2001) == "the path is longer than 4000 bytes"
    assert refusal("\udcff" * 4001) == "the path is longer than 4000 bytes"


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name not in {".", ".."}
)


@settings(max_examples=150, deadline=None)
@given(st.lists(NAMES, max_size=3), st.sampled_from(sorted(PEOPLE)), st.data())
def test_a_refused_path_stays_refused_below_any_folder_and_in_any_case(
    folders: list[str], path: str, data: st.DataObject
) -> None:
    letters = [data.draw(st.sampled_from([letter.upper(), letter.lower()])) for letter in path]
    assert refusal("/".join([*folders, "".join(letters)])) is not None


# --- special files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"*.bin filter=lfs diff=lfs merge=lfs -text\n",
        b"* filter=evil\n",
        b"*.x diff=evil",
        b"# fine\n*.y\tmerge=union\n",
        b"*.z working-tree-encoding=UTF-16",
        b"[attr]mine filter=x",
        b"\xff\xfe * filter=x",
    ],
)
def test_attributes_that_name_a_driver_are_refused(content: bytes) -> None:
    why = "attributes that name a filter, driver or encoding are changed by people only"
    assert content_refusal("a/.gitattributes", content) == why
    assert content_refusal(".GitAttributes", content) == why
    assert content_refusal("a/attributes", content) is None
    assert content_refusal(".gitattributes.md", content) is None


@pytest.mark.parametrize("content", [b"", b"* text=auto eol=lf\n", b"*.png binary\n*.x -diff -merge\n", b"refilter=x"])
def test_other_attributes_are_allowed(content: bytes) -> None:
    assert content_refusal(".gitattributes", content) is None


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "b"),
        ("a", "./b"),
        ("a", "b//c/"),
        ("a", "."),
        ("d/a", "../b"),
        ("d/a", ".."),
        ("d/e/a", "../../b/c"),
        ("d/e/a", ".././../b"),
        ("a", "..b"),
        ("a", "b..c/..."),
        ("a", ""),
    ],
)
def test_a_link_inside_the_tree_is_allowed(path: str, target: str) -> None:
    assert link_refusal(path, target) is None


@pytest.mark.parametrize(
    ("path", "target", "why"),
    [
        ("a", "/etc/shadow", "a link to an absolute path"),
        ("a", "/", "a link to an absolute path"),
        ("a", "//x", "a link to an absolute path"),
        ("a", "..", "a link that leads out of the tree"),
        ("a", "../b", "a link that leads out of the tree"),
        ("d/a", "../../b", "a link that leads out of the tree"),
        ("d/a", ".//../../b", "a link that leads out of the tree"),
        ("d/e/a", "../../../b", "a link that leads out of the tree"),
        ("a", "b/../../c", "a link with `..` behind a name"),
        ("d/e/a", "l/../x", "a link with `..` behind a name"),
    ],
)
def test_a_link_that_leads_or_may_lead_out_is_refused(path: str, target: str, why: str) -> None:
    assert link_refusal(path, target) == why


PARTS = st.sampled_from(["..", ".", "a", "b", ""])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["l1", "a/l2", "a/b/l3"]), st.lists(PARTS, max_size=5)), max_size=3))
def test_no_chain_of_allowed_links_leads_out(links: list[tuple[str, list[str]]]) -> None:
    allowed = {path: target for path, parts in links if not link_refusal(path, target := "/".join(parts))}
    for path in allowed:
        assert not escapes(path.split("/"), allowed)


def escapes(parts: list[str], links: dict[str, str]) -> bool:
    """Walk a path as a file system does, 40 links at most; True where it leaves the tree."""
    here: list[str] = []
    todo, followed = list(parts), 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            if not here:
                return True
            here.pop()
        elif part not in ("", "."):
            here.append(part)
            target = links.get("/".join(here))
            if target is not None:
                followed += 1
                if followed > 40:
                    return False
                here.pop()
                todo = target.split("/") + todo
    return False


# --- what a person sees first ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "pyproject.toml", "setup.py"),
        *("setup.cfg", "requirements.txt", "requirements-dev.txt", "uv.lock", "poetry.lock", "Cargo.toml"),
        *("Cargo.lock", "go.mod", "go.sum", "Gemfile", "Gemfile.lock", "pom.xml", "build.gradle"),
        *("build.gradle.kts", "Dockerfile", "Dockerfile.dev", "Makefile", "conftest.py", "pytest.ini"),
        *("tox.ini", "jest.config.js", "jest.config.ts"),
    ],
)
def test_what_changes_installs_or_tests_needs_a_person_at_every_depth(name: str) -> None:
    for path in (name, f"sub/{name}", f"a/b/{name.upper()}"):
        assert needs_person(path)
        assert refusal(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "package.json.md",
        "my-package.json",
        "requirements.md",
        "setup.pyi",
        "src/weather.py",
        "tests/test_conftest.py",
        "makefile.md",
        "package.json/x",
        "go.mod.txt",
        "docs/pom.xml.txt",
    ],
)
def test_other_names_need_nobody(path: str) -> None:
    assert not needs_person(path)

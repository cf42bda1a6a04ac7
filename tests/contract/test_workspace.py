"""The trees of a run: exact at every hand-over, kept between sessions, with a template that is never in the way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autobuild_action.adapters.git import Git
from autobuild_action.adapters.workspace import COACH, PLAYER, SCRATCH, Workspace
from autobuild_action.model import Dispute
from tests.support.repos import (
    AUTHOR,
    EXECUTABLE,
    LINK,
    SUBMODULE,
    Content,
    bare,
    commit,
    entries,
    files_of,
    keep,
    played,
    walk,
    write,
)

FILES: Mapping[str, Content] = {
    ".gitignore": "/env/\n",
    "README.md": "# One\n",
    "src/app.py": "print(1)\n",
    "run": (EXECUTABLE, b"#!/bin/sh\n"),
    "link": (LINK, b"src/app.py"),
}


def removed(*names: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        for name in names:
            (tree / name).unlink()

    return change


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return bare(tmp_path / "git")


@pytest.fixture
def workspace(git: Git, tmp_path: Path) -> Workspace:
    return Workspace(git, tmp_path / "trees", AUTHOR)


@pytest.fixture
def base(git: Git) -> str:
    return commit(git, FILES)


class TestTrees:
    def test_a_tree_is_the_commit_and_nothing_else(self, workspace: Workspace, base: str) -> None:
        tree = workspace.prepare(PLAYER, base, keep)
        assert walk(tree) == {
            ".gitignore": ("-", 0o644, b"/env/\n"),
            "README.md": ("-", 0o644, b"# One\n"),
            "src": ("d", 0o755, b""),
            "src/app.py": ("-", 0o644, b"print(1)\n"),
            "run": ("-", 0o755, b"#!/bin/sh\n"),
            "link": ("l", 0o777, b"src/app.py"),
        }

    def test_it_is_brought_to_any_other_commit(self, workspace: Workspace, git: Git, base: str) -> None:
        other = commit(git, {"src": "a file now\n", "README.md/x": "a folder now\n", "new/deep/f": "1\n"})
        for each in (base, other, base, other):
            assert walk(workspace.prepare(PLAYER, each, keep)) == walk(workspace.prepare("fresh", each, keep))

    def test_what_a_check_left_behind_is_gone(self, workspace: Workspace, base: str) -> None:
        """H-70: product code leaves files in a kept checkout."""
        fresh = walk(workspace.prepare("fresh", base, keep))
        tree = workspace.prepare(SCRATCH, base, keep)
        write(tree, "src/sitecustomize.py")
        write(tree, "src/__pycache__/app.cpython-313.pyc")
        write(tree, "env/bin/python")
        write(tree, ".git/hooks/post-checkout")
        (tree / "src").chmod(0o777)
        assert walk(workspace.prepare(SCRATCH, base, keep)) == fresh

    def test_a_file_forged_at_once_after_the_hand_over_is_brought_back(self, workspace: Workspace, base: str) -> None:
        """Git compares whole seconds: of the same size and with the old time of modification it looks untouched."""

        def old(tree: Path) -> bool:
            """Older than the index, or git itself would look into the file."""
            os.utime(tree / "src/app.py", (10**9, 10**9))
            return True

        for content in ("print(2)\n", "print(3)\n"):
            file = workspace.prepare(SCRATCH, base, old) / "src/app.py"
            before = file.stat()
            file.write_text(content)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert workspace.touched(SCRATCH)
            workspace.prepare(SCRATCH, base, old)
            assert file.read_text() == "print(1)\n"

    def test_a_folder_that_was_swapped_for_a_link_to_it_comes_back(self, workspace: Workspace, base: str) -> None:
        tree = workspace.prepare(SCRATCH, base, keep)
        (tree / "elsewhere").mkdir()
        (tree / "src").rename(tree / "elsewhere" / "src")
        (tree / "src").symlink_to("elsewhere/src")
        tree = workspace.prepare(SCRATCH, base, keep)
        assert not (tree / "src").is_symlink()
        assert (tree / "src/app.py").read_text() == "print(1)\n"
        assert not (tree / "elsewhere").exists()

    def test_nothing_outside_is_removed_through_a_link_in_the_place_of_a_submodules_folder(
        self, workspace: Workspace, git: Git, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        (outside / "lib").mkdir(parents=True)
        (outside / "lib/file").write_text("ours")
        (outside / "other").write_text("ours")
        base = commit(git, {"a/vendor/lib": (SUBMODULE, b"1" * 40), "b": "x"})
        tree = workspace.prepare(SCRATCH, base, keep)
        (tree / "a/vendor/lib").rmdir()
        (tree / "a/vendor").rmdir()
        (tree / "a/vendor").symlink_to(outside)
        workspace.prepare(SCRATCH, base, keep)
        assert (outside / "lib/file").read_text() == (outside / "other").read_text() == "ours"

    def test_submodules_keep_their_empty_places(self, workspace: Workspace, git: Git) -> None:
        base = commit(git, {**FILES, "lib/sub": (SUBMODULE, b"1" * 40)})
        tree = workspace.prepare(PLAYER, base, keep)
        assert walk(tree)["lib/sub"] == ("d", 0o755, b"")
        write(tree, "lib/sub/x")
        assert walk(workspace.prepare(PLAYER, base, keep)) == walk(workspace.prepare("fresh", base, keep))

    def test_the_hand_over_is_told_the_tree_and_later_changes_count(self, workspace: Workspace, base: str) -> None:
        given = []

        def change_owner(tree: Path) -> bool:
            given.append(tree)
            for path in tree.rglob("*"):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode)  # as chown does: a new time of change
            return True

        tree = workspace.prepare(COACH, base, change_owner)
        assert given == [tree] == [workspace.tree(COACH)]
        assert not workspace.touched(COACH)
        (tree / "README.md").write_text("# Two\n")
        assert workspace.touched(COACH)

    @pytest.mark.parametrize(
        "touch",
        [
            lambda tree: (tree / "README.md").unlink(),
            lambda tree: (tree / "run").chmod(0o644),
            lambda tree: (tree / "src").rename(tree / "lib"),
            lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("run")),
            lambda tree: ((tree / "README.md").unlink(), (tree / "README.md").mkdir()),
        ],
        ids=["removed", "mode", "moved", "link", "kind"],
    )
    def test_a_touched_tree_is_noticed(self, workspace: Workspace, base: str, touch: Callable[[Path], object]) -> None:
        tree = workspace.prepare(COACH, base, keep)
        assert not workspace.touched(COACH)
        touch(tree)
        assert workspace.touched(COACH)

    def test_roles_have_trees_of_their_own(self, workspace: Workspace, base: str) -> None:
        trees = {workspace.prepare(role, base, keep) for role in (PLAYER, COACH, SCRATCH)}
        assert len({tree.parent for tree in trees}) == 3


class TestThrowAwayRepository:
    def git(self, tree: Path, *command: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        options = ("-c", "safe.directory=*")
        done = subprocess.run(
            ["git", *options, *command], cwd=tree, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def test_the_agents_git_works_and_knows_no_remote_and_no_history(
        self, workspace: Workspace, git: Git, base: str
    ) -> None:
        head = commit(git, {**FILES, "more.py": "1\n"}, base)
        tree = workspace.prepare(PLAYER, head, keep)
        assert self.git(tree, "status", "--porcelain") == ""
        assert self.git(tree, "rev-list", "--count", "HEAD") == "1"
        assert self.git(tree, "remote") == ""
        assert self.git(tree, "rev-parse", "HEAD^{tree}") == git.tree(head)
        write(tree, "more.py", "2\n")
        assert self.git(tree, "diff", "--stat").startswith("more.py")
        self.git(tree, "commit", "-qam", "mine")

    def test_it_knows_nothing_of_earlier_turns(self, workspace: Workspace, git: Git, base: str) -> None:
        workspace.prepare(PLAYER, base, keep)
        tree = workspace.prepare(PLAYER, commit(git, {**FILES, "new": "x"}), keep)
        refs = subprocess.run(["git", "for-each-ref"], cwd=tree, check=True, capture_output=True, text=True).stdout
        assert len(refs.splitlines()) == 1

    def test_it_is_new_at_every_hand_over(self, workspace: Workspace, base: str) -> None:
        tree = workspace.prepare(PLAYER, base, keep)
        write(tree, ".git/hooks/pre-commit", "#!/bin/sh\n")
        write(tree, ".git/config", "[remote]\n")
        self.git(workspace.prepare(PLAYER, base, keep), "status")
        assert not (tree / ".git/hooks/pre-commit").exists()
        assert "remote" not in (tree / ".git/config").read_text()


class TestTemplate:
    @pytest.fixture
    def template(self, workspace: Workspace, base: str) -> Path:
        """What a set-up command leaves: made as the product makes it, in a checkout of the base."""
        tree = workspace.prepare("template", base, keep)
        write(tree, "env/bin/python", "#!/bin/sh\n").chmod(0o755)
        write(tree, "env/lib/pkg.py", "x = 1\n")
        (tree / "env/lib64").symlink_to("lib")
        write(tree, "generated/config.json", "{}\n")
        write(tree, "package-lock.json", "{}\n")
        write(tree, "same-size.json", "{}\n")
        write(tree, "README.md", "# Changed by the set-up\n")
        subprocess.run(["rm", "-r", tree / ".git"], check=True)
        workspace.template = tree
        return tree

    @pytest.mark.usefixtures("template")
    def test_checkouts_have_what_it_holds_and_the_commit_wins(self, workspace: Workspace, base: str) -> None:
        found = walk(workspace.prepare(PLAYER, base, keep))
        assert found["env/bin/python"] == ("-", 0o755, b"#!/bin/sh\n")
        assert found["env/lib64"] == ("l", 0o777, b"lib")
        assert found["generated/config.json"] == ("-", 0o644, b"{}\n")
        assert found["README.md"] == ("-", 0o644, b"# One\n")
        assert workspace.take(base).tree == workspace.git.tree(base)

    @pytest.mark.usefixtures("template")
    def test_a_file_that_a_commit_deleted_does_not_come_back(self, workspace: Workspace, git: Git, base: str) -> None:
        taken = played(workspace, base, removed("README.md", "src/app.py"))
        head = git.commit(taken.tree, [base], "Turn 1", AUTHOR)
        tree = workspace.prepare(SCRATCH, head, keep)
        assert not (tree / "README.md").exists()
        assert not (tree / "src").exists()
        assert (tree / "env/lib/pkg.py").exists()

    @pytest.mark.usefixtures("template")
    def test_a_file_deleted_in_one_turn_and_made_anew_in_the_next_is_committed(
        self, workspace: Workspace, git: Git, base: str
    ) -> None:
        gone = git.commit(played(workspace, base, removed("README.md")).tree, [base], "1", AUTHOR)
        tree = workspace.prepare(PLAYER, gone, keep)
        write(tree, "README.md", "# One\n")
        assert workspace.take(base).tree == git.tree(base)

    @pytest.mark.usefixtures("template")
    def test_ignored_files_that_were_altered_are_the_templates_again(self, workspace: Workspace, base: str) -> None:
        """H-69."""
        tree = workspace.prepare(PLAYER, base, keep)
        write(tree, "env/lib/pkg.py", "x = 2\n")
        write(tree, "env/lib/evil.py")
        assert workspace.take(base).tree == workspace.git.tree(base)
        for role in (PLAYER, SCRATCH):
            found = walk(workspace.prepare(role, base, keep))
            assert found["env/lib/pkg.py"] == ("-", 0o644, b"x = 1\n")
            assert "env/lib/evil.py" not in found

    @pytest.mark.usefixtures("template")
    def test_a_file_of_the_template_that_is_not_ignored_is_committed_once_it_changed(
        self, workspace: Workspace, base: str
    ) -> None:
        tree = workspace.prepare(PLAYER, base, keep)
        write(tree, "generated/config.json", '{"a": 1}\n')
        write(tree, "package-lock.json", "{}\n")  # touched, and as it was
        write(tree, "same-size.json", "[]\n")
        taken = workspace.take(base)
        assert files_of(workspace.git, taken.tree) == entries(
            {**FILES, "generated/config.json": '{"a": 1}\n', "same-size.json": "[]\n"}
        )

    @pytest.mark.parametrize(
        "files",
        [
            {"generated": "a file\n"},
            {"generated": (LINK, b"src")},
            {"package-lock.json/x": "a folder\n"},
            {"env": "a file\n"},
            {"env/lib": (LINK, b"../src")},
        ],
        ids=["file over folder", "link over folder", "folder over file", "file over ignored folder", "link inside"],
    )
    def test_where_kinds_differ_the_commit_wins(
        self, workspace: Workspace, git: Git, base: str, template: Path, files: Mapping[str, Content]
    ) -> None:
        before = walk(template)
        head = commit(git, {**FILES, **files}, base)
        found = walk(workspace.prepare(PLAYER, head, keep))
        for path, content in entries({**FILES, **files}).items():
            assert found[path][2] == content[1]
        assert not [path for path in found if path.startswith("src/") and path != "src/app.py"]
        assert walk(template) == before

    def test_a_folder_of_its_own_may_be_the_template(self, git: Git, base: str, tmp_path: Path) -> None:
        write(tmp_path / "template", "env/x", "1\n")
        workspace = Workspace(git, tmp_path / "trees", AUTHOR, template=tmp_path / "template")
        assert (workspace.prepare(PLAYER, base, keep) / "env/x").read_text() == "1\n"


class TestCommits:
    def test_a_turns_commit_is_the_child_of_the_one_before(self, workspace: Workspace, git: Git, base: str) -> None:
        """H-28: whatever the agent's own git says."""
        taken = played(workspace, base, lambda tree: write(tree, "new.py", "1\n"))
        made = workspace.commit(3, base, taken, "Turn 3\n\nAutobuild-Turn: 3\n")
        shown = git.text("show", "--no-patch", "--format=%P|%an|%ae|%cn|%ce|%B", made.commit)
        who = f"{AUTHOR.name}|{AUTHOR.email}"
        assert shown == f"{base}|{who}|{who}|Turn 3\n\nAutobuild-Turn: 3"
        assert (made.turn, made.tree, git.tree(made.commit)) == (3, taken.tree, taken.tree)

    def test_nothing_changed_is_told_with_what_was_refused(self, workspace: Workspace, base: str) -> None:
        taken = played(workspace, base, lambda tree: write(tree, "CLAUDE.md"))
        dispute = Dispute(issue="I1.1.1", reason="it is right")
        fact = workspace.unchanged(2, base, taken, [dispute])
        assert (fact.turn, fact.commit, fact.disputes) == (2, base, (dispute,))
        assert [refused.path for refused in fact.refused] == ["CLAUDE.md"]

    def test_the_change_is_measured_against_the_base(self, workspace: Workspace, git: Git, base: str) -> None:
        head = commit(git, {**FILES, "README.md": "# One\n\ntwo\n", "new\tname": "1\n2\n"}, base)
        stat = workspace.diff_stat(base, head)
        assert (stat.files, stat.insertions, stat.deletions) == (2, 4, 0)
        assert sorted(stat.paths) == ["README.md", "new\tname"]

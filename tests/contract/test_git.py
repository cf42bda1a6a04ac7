"""Git as the product runs it: deaf to every hostile setting, silent about the token, all or nothing at a push."""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from autobuild_action.adapters.checkout import Checkout
from autobuild_action.adapters.git import PASSED_ON, PASSED_ON_CA, Git, GitError, Remote, Update
from autobuild_action.errors import ForgeError, PushRefusedError, SupersededError
from simulators.github import Fault, GitHub, Repository
from tests.support.repos import AUTHOR, EXECUTABLE, bare, commit, entries, files_of, walk, write

BRANCH, JOURNAL = "refs/heads/autobuild/issue-1", "refs/autobuild/issue-1/journal"
HOOKS = (
    *("pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-push", "post-index-change"),
    *("reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "update", "pre-receive", "post-update"),
)


def program(path: Path, marker: Path) -> str:
    """A program that leaves a mark wherever it is run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran >>{marker}\ncat\n")
    path.chmod(0o755)
    return str(path)


def everything(git: Git, folder: Path) -> dict[str, tuple[str, bytes]]:
    """Each kind of thing we do with git, once; answers the tree that came of it."""
    base = commit(git, {"a.txt": "one\n", "b.bin": b"\0\1"})
    checkout = Checkout(git, folder / "tree", folder / "index")
    checkout.restore(base)
    write(checkout.folder, "a.txt", "two\n")
    assert checkout.changed() == ([b"a.txt"], [])
    [id_] = git.blobs([b"a.txt"], cwd=checkout.folder)
    tree, left_out = checkout.record([("100644", id_, b"a.txt")], [])
    assert not left_out
    made = git.commit(tree, [base], "Change\n", AUTHOR)
    assert "-one\n+two\n" in git.diff(base, made)
    assert git.numstat(base, made) == [("a.txt", 1, 1)]
    git.push(Update(commit=made, ref=BRANCH))
    git.fetch(BRANCH)
    assert git.remote_refs(BRANCH) == {BRANCH: made}
    return files_of(git, made)


EXPECTED = entries({"a.txt": "two\n", "b.bin": b"\0\1"})


class TestCleanEnvironment:
    def test_no_variable_of_the_caller_counts(self, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        marker = tmp_path / "marker"
        evil = program(tmp_path / "evil", marker)
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
            monkeypatch.setenv(name, "/nonexistent")
        for name in ("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR"):
            monkeypatch.setenv(name, evil)
        for name in ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR"):
            monkeypatch.setenv(name, evil)
        for name in ("GIT_TRACE", "GIT_TRACE_CURL", "GIT_TRACE2", "GIT_TRACE_PACKET"):
            monkeypatch.setenv(name, str(marker))
        monkeypatch.setenv("GIT_EXEC_PATH", str(tmp_path))
        monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path))
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='" + evil + "'")
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", evil)
        monkeypatch.setenv("GIT_AUTHOR_DATE", "nonsense")
        monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
        monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
        again = bare(tmp_path / "git-again", Remote(url=git._url, token=git._remote.token if git._remote else ""))  # noqa: SLF001  the same place
        assert everything(again, tmp_path) == EXPECTED
        assert not marker.exists()

    @pytest.mark.parametrize("where", ["home", "xdg", "system", "named", "own"])
    def test_no_configuration_of_user_machine_or_directory_counts(
        self, hub: GitHub, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        marker = tmp_path / "marker"
        evil = program(tmp_path / "evil", marker)
        program(tmp_path / "hooks" / "post-index-change", marker)
        program(tmp_path / "hooks" / "reference-transaction", marker)
        write(tmp_path, "attributes", "* filter=evil diff=evil text eol=crlf\n")
        text = (
            f"[core]\n hooksPath = {tmp_path}/hooks\n fsmonitor = {evil}\n attributesFile = {tmp_path}/attributes\n"
            f' autocrlf = true\n pager = {evil}\n[diff]\n external = {evil}\n[diff "evil"]\n textconv = {evil}\n'
            f'[filter "evil"]\n clean = {evil}\n smudge = {evil}\n required = true\n'
            f'[credential]\n helper = "!{evil}"\n[url "file:///nonexistent/"]\n insteadOf = http://\n'
            f"[commit]\n gpgSign = true\n[gpg]\n program = {evil}\n[alias]\n push = !{evil}\n[gc]\n auto = 1\n"
        )
        if where in {"home", "xdg"}:
            write(tmp_path, "home/.gitconfig" if where == "home" else "home/git/config", text)
            monkeypatch.setenv("HOME", str(tmp_path / "home"))
            monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
        elif where == "own":  # all but what only this directory can say: the remote's address rewritten
            with (git.folder / "config").open("a") as config:
                config.write(text.replace("insteadOf = http://", "insteadOf = ftp://"))
        else:
            write(tmp_path, "config", text)
            monkeypatch.setenv(f"GIT_CONFIG_{'SYSTEM' if where == 'system' else 'GLOBAL'}", str(tmp_path / "config"))
        assert everything(git, tmp_path) == EXPECTED
        hub.tokens.clear()
        with pytest.raises(GitError, match="could not read Username"):  # and no helper was asked for one
            git.fetch(BRANCH)
        assert not marker.exists()

    def test_no_hook_runs(self, git: Git, tmp_path: Path) -> None:
        marker = tmp_path / "marker"
        for hook in HOOKS:
            program(git.folder / "hooks" / hook, marker)
        assert everything(git, tmp_path) == EXPECTED
        assert not marker.exists()

    def test_attributes_in_the_tree_change_no_byte(self, git: Git, tmp_path: Path) -> None:
        files = {
            ".gitattributes": "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16 export-subst\n"
            "*.bin binary\n[attr]mine -text\n",
            "sub/.gitattributes": "* text=auto diff=evil merge=evil\n",
            "a.txt": "$Id$ $Format:%H$\nlf\ncrlf\r\n",
            "sub/b.txt": "é\n",
            "c.bin": "words\n",
        }
        base = commit(git, files)
        checkout = Checkout(git, tmp_path / "tree", tmp_path / "index")
        checkout.restore(base)
        found = {path: content for path, (kind, _, content) in walk(checkout.folder).items() if kind == "-"}
        assert found == {path: text.encode() for path, text in files.items()}
        assert checkout.changed() == ([], [])
        for path, text in files.items():
            write(checkout.folder, path, text + "more\n")
        head = commit(git, {path: text + "more\n" for path, text in files.items()}, base)
        changed, _ = checkout.changed()
        ids = git.blobs(changed, cwd=checkout.folder)
        tree, _ = checkout.record([("100644", id_, path) for path, id_ in zip(changed, ids, strict=True)], [])
        assert tree == git.tree(head)
        assert "+more" in git.diff(base, head).split("c.bin")[-1]

    def test_the_checkout_itself_has_no_say(self, git: Git, tmp_path: Path) -> None:
        """A ``.git`` in the tree, as an agent leaves it, is not looked at."""
        marker = tmp_path / "marker"
        base = commit(git, {"a.txt": "one\n"})
        checkout = Checkout(git, tmp_path / "tree", tmp_path / "index")
        checkout.restore(base)
        evil = program(tmp_path / "evil", marker)
        write(checkout.folder, ".git/config", f"[core]\n fsmonitor = {evil}\n worktree = /etc\n bare = true\n")
        write(checkout.folder, ".git/HEAD", "ref: refs/heads/main\n")
        write(checkout.folder, ".git/info/exclude", "*\n")
        program(checkout.folder / ".git/hooks/post-index-change", marker)
        write(checkout.folder, "a.txt", "two\n")
        assert checkout.changed() == ([b"a.txt"], [])
        checkout.restore(base)
        assert walk(checkout.folder) == {"a.txt": ("-", 0o644, b"one\n")}
        assert not marker.exists()


class TestToken:
    def test_the_token_is_in_no_argument_while_a_push_is_under_way(
        self, hub: GitHub, git: Git, token: str, repo: Repository
    ) -> None:
        seen: list[bytes] = []

        def look(method: str, path: str, _: object) -> None:
            if method == "POST" and path.endswith("git-receive-pack"):
                seen.extend(command_lines())

        hub.fault = look
        git.push(Update(commit=commit(git, {"a": "1"}, main(git)), ref=BRANCH))
        assert any(b"\0push\0" in line for line in seen)
        assert any(b"git-remote-http" in line or b"remote-http" in line for line in seen)
        assert not [line for line in seen if any(dress in line for dress in dresses(token))]
        assert repo.files_at("autobuild/issue-1") == {"a": "1"}

    def test_every_call_has_this_environment_and_only_the_remote_ones_the_token(
        self, git: Git, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, calls = shutil.which("git"), tmp_path / "calls"
        calls.mkdir()
        fake = tmp_path / "bin" / "git"
        write(tmp_path, "bin/git", FAKE_GIT.format(calls=calls, real=real)).chmod(0o755)
        monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
        for name in (
            "GITHUB_TOKEN",
            "INPUT_GITHUB-TOKEN",
            "ACTIONS_RUNTIME_TOKEN",
            "LD_PRELOAD",
            "GIT_TRACE",
            "PYTHONPATH",
        ):
            monkeypatch.setenv(name, "" if name == "LD_PRELOAD" else "hostile")
        everything(git, tmp_path)
        with_token = set()
        for call in calls.iterdir():
            arguments = (call / "arguments").read_bytes().split(b"\0")
            environment = dict(line.split(b"=", 1) for line in (call / "environment").read_bytes().split(b"\0") if line)
            if f"--git-dir={git.folder}".encode() not in arguments:
                continue  # the simulator's
            command = next(word for word in arguments[2:] if word in COMMANDS)
            assert {name.decode() for name in environment} <= ALLOWED | (REMOTE if command in WITH_REMOTE else set())
            assert environment.items() >= FIXED_ENVIRONMENT.items()
            assert not any(dress in word for word in arguments for dress in dresses(token))
            if any(dress in value for value in environment.values() for dress in dresses(token)):
                with_token.add(command)
        assert with_token == WITH_REMOTE

    def test_the_token_is_in_no_file(self, git: Git, token: str, tmp_path: Path) -> None:
        everything(git, tmp_path)
        for folder in (git.folder, tmp_path / "tree"):
            for path in folder.rglob("*"):
                if path.is_file():
                    assert not any(dress in path.read_bytes() for dress in dresses(token)), path
        assert token not in repr(git._remote)  # noqa: SLF001  what a traceback with locals would show

    def test_errors_do_not_quote_the_token(self, hub: GitHub, git: Git, token: str) -> None:
        hub.fault = lambda *_: Fault(status=500, body="no")
        with pytest.raises(GitError) as caught:
            git.fetch("refs/heads/main")
        assert token not in str(caught.value)
        assert not any(dress.decode() in str(caught.value) for dress in dresses(token))


FAKE_GIT = """#!/bin/sh
call=$(mktemp -d {calls}/XXXXXXXX)
cat /proc/$$/cmdline >$call/arguments
cat /proc/$$/environ >$call/environment
exec {real} "$@"
"""
COMMANDS = {
    *(
        b"init",
        b"hash-object",
        b"update-index",
        b"write-tree",
        b"commit-tree",
        b"read-tree",
        b"ls-files",
        b"diff-files",
    ),
    *(b"diff", b"push", b"fetch", b"ls-remote", b"ls-tree", b"cat-file", b"mktree", b"rev-parse"),
}
WITH_REMOTE = {b"push", b"fetch", b"ls-remote"}
ALLOWED = {
    *("HOME", "LC_ALL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_ATTR_NOSYSTEM", "GIT_TERMINAL_PROMPT"),
    *("GIT_OPTIONAL_LOCKS", "GIT_INDEX_FILE", *PASSED_ON, *PASSED_ON_CA),
    *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")),
}
FIXED_ENVIRONMENT = {
    b"HOME": b"/nonexistent",
    b"GIT_CONFIG_NOSYSTEM": b"1",
    b"GIT_CONFIG_GLOBAL": b"/dev/null",
    b"GIT_ATTR_NOSYSTEM": b"1",
    b"GIT_TERMINAL_PROMPT": b"0",
}
"""/etc cannot be made hostile here, so it's the words that count."""
REMOTE = {"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"}


def command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes())
        except OSError:  # it ended meanwhile
            continue
    return found


def dresses(token: str) -> tuple[bytes, ...]:
    """The token as it is and as the header has it."""
    return token.encode(), base64.b64encode(f"x-access-token:{token}".encode())


class TestProtocols:
    @pytest.mark.parametrize(
        "url",
        [
            "http://github.example/o/r.git",
            "http://localhost.github.example/o/r.git",
            "http://127.0.0.1.github.example/o/r.git",
            "http://127.0.0.1@github.example/o/r.git",
            "http://10.0.0.1/o/r.git",
            "HTTP://github.example/o/r.git",
        ],
    )
    def test_plain_http_is_only_for_loopback(self, tmp_path: Path, url: str) -> None:
        git = Git(tmp_path, Remote(url=url, token="ghs_secret"))
        for call in (lambda: git.fetch("main"), lambda: git.remote_refs("main"), git.create):
            with pytest.raises(ForgeError, match="http://"):
                call()

    @pytest.mark.parametrize(
        "transport", ["ext::sh -c touch% {marker}", "file://{other}", "{other}", "ssh://localhost/x"]
    )
    def test_no_other_transport_is_spoken(self, git: Git, tmp_path: Path, transport: str) -> None:
        marker, other = tmp_path / "marker", bare(tmp_path / "other")
        commit(other, {"a": "1"})
        with pytest.raises(GitError, match="not allowed"):
            git.run("fetch", transport.format(marker=marker, other=other.folder), "HEAD")
        assert not marker.exists()

    def test_without_a_remote_no_transport_is_spoken(self, tmp_path: Path) -> None:
        git = bare(tmp_path / "git")
        with pytest.raises(GitError, match="not allowed"):
            git.run("fetch", str(bare(tmp_path / "other").folder), "HEAD")
        with pytest.raises(ForgeError, match="no remote"):
            git.fetch("HEAD")


class TestPush:
    @pytest.fixture
    def updates(self, git: Git) -> tuple[Update, Update]:
        work = commit(git, {"calc.py": "better\n"}, main(git), message="Turn 1")
        record = commit(git, {"journal.json": "{}\n"}, message="Journal")
        return Update(commit=record, ref=JOURNAL), Update(commit=work, ref=BRANCH)

    def test_both_refs_arrive(self, git: Git, repo: Repository, updates: tuple[Update, Update]) -> None:
        git.push(*updates)
        assert refs(repo) == {update.ref: update.commit for update in updates}

    @pytest.mark.parametrize("ref", [BRANCH, JOURNAL])
    def test_a_refusal_of_one_is_quoted_and_neither_arrives(
        self, git: Git, repo: Repository, updates: tuple[Update, Update], ref: str
    ) -> None:
        repo.refuse_pushes({ref: "protected branch hook declined: ask the owner"})
        with pytest.raises(PushRefusedError, match="protected branch hook declined: ask the owner"):
            git.push(*updates)
        assert refs(repo) == {}

    def test_a_workflow_file_is_refused_in_githubs_words(self, git: Git, repo: Repository) -> None:
        work = commit(git, {".github/workflows/x.yml": "on: push\n"}, main(git))
        with pytest.raises(PushRefusedError, match="without `workflows` permission"):
            git.push(Update(commit=work, ref=BRANCH))
        assert refs(repo) == {}

    def test_a_refusal_is_not_tried_again(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update]
    ) -> None:
        repo.refuse_pushes({BRANCH: "no"})
        with pytest.raises(PushRefusedError):
            git.push(*updates)
        assert posts(hub) == 1

    @pytest.mark.parametrize("moved", [BRANCH, JOURNAL])
    def test_a_ref_moved_by_somebody_else_is_left_alone(
        self, git: Git, repo: Repository, updates: tuple[Update, Update], moved: str
    ) -> None:
        theirs = repo.git.commit(moved, {"theirs": "1"}, message="Theirs")
        with pytest.raises(SupersededError):
            git.push(*updates)
        assert refs(repo) == {moved: theirs}

    def test_a_ref_moved_in_the_last_moment_is_left_alone(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update]
    ) -> None:
        """Between what the server advertised and the push."""
        theirs: list[str] = []

        def move(method: str, *_: object) -> None:
            if method == "POST" and not theirs:
                theirs.append(repo.git.commit(BRANCH, {"theirs": "1"}, message="Theirs"))

        hub.fault = move
        with pytest.raises(SupersededError):
            git.push(*updates)
        assert refs(repo) == {BRANCH: theirs[0]}

    def test_a_push_that_somebody_overtakes_at_once_is_superseded(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update]
    ) -> None:
        """Done, and moved on before it was read back."""

        def move(method: str, path: str, _: object) -> None:
            if method == "GET" and "upload-pack" in path and posts(hub):
                repo.git.commit(BRANCH, {"theirs": "1"}, message="Theirs")

        hub.fault = move
        with pytest.raises(SupersededError):
            git.push(*updates)

    @pytest.mark.parametrize("fault", [Fault(when="after"), Fault(when="after", drop=True)], ids=["502", "cut"])
    def test_a_lost_answer_is_read_back_and_fine(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update], fault: Fault
    ) -> None:
        hub.fault = once(fault)
        git.push(*updates)
        assert refs(repo) == {update.ref: update.commit for update in updates}
        assert posts(hub) == (2 if fault.drop else 1)  # on a connection that was cut, curl asks again by itself

    @pytest.mark.parametrize("fault", [Fault(), Fault(drop=True), Fault(status=503)], ids=["502", "cut", "503"])
    def test_a_push_that_did_not_arrive_is_tried_again(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update], fault: Fault
    ) -> None:
        hub.fault = once(fault)
        git.push(*updates)
        assert refs(repo) == {update.ref: update.commit for update in updates}
        assert posts(hub) == 2

    def test_a_server_that_stays_broken_is_an_error_after_the_second_try(
        self, hub: GitHub, git: Git, repo: Repository, updates: tuple[Update, Update]
    ) -> None:
        hub.fault = lambda _, path, __: Fault(status=500) if path.endswith("/git-receive-pack") else None
        with pytest.raises(PushRefusedError, match="500"):
            git.push(*updates)
        assert (posts(hub), refs(repo)) == (2, {})

    def test_a_token_that_ended_is_an_error_with_words(
        self, hub: GitHub, git: Git, token: str, updates: tuple[Update, Update]
    ) -> None:
        hub.revoke(token)
        with pytest.raises(ForgeError, match=r"git .* failed"):
            git.push(*updates)

    def test_of_racing_pushes_exactly_one_wins(self, git: Git, repo: Repository) -> None:
        """One answer each; nobody's is lost and nobody is told otherwise."""
        commits = [commit(git, {"n": str(number)}, main(git)) for number in range(4)]
        outcomes: dict[str, str] = {}
        start = threading.Barrier(len(commits))

        def push(mine: str) -> None:
            start.wait()
            try:
                git.push(Update(commit=mine, ref=BRANCH))
            except SupersededError:
                outcomes[mine] = "lost"
            else:
                outcomes[mine] = "won"

        threads = [threading.Thread(target=push, args=(one,)) for one in commits]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes.values()) == ["lost", "lost", "lost", "won"]
        assert outcomes[refs(repo)[BRANCH]] == "won"


def main(git: Git) -> str:
    return git.remote_refs("refs/heads/main")["refs/heads/main"]


def refs(repo: Repository) -> dict[str, str]:
    """All of the server's refs but the base branch."""
    return {ref: commit for ref, commit in repo.git.refs().items() if ref != "refs/heads/main"}


def posts(hub: GitHub) -> int:
    """How many pushes the server got."""
    return sum(request.method == "POST" and request.path.endswith("git-receive-pack") for request in hub.journal)


def once(fault: Fault) -> Callable[[str, str, Any], Fault | None]:
    """This fault at the first push, and none afterwards."""
    left = [fault]
    return lambda method, path, _: left.pop() if left and method == "POST" and path.endswith("receive-pack") else None


class TestReading:
    @pytest.fixture
    def git(self, tmp_path: Path) -> Git:
        return bare(tmp_path / "git")

    FILES: Mapping[str, Any] = {
        "README.md": "# Title\n",
        "tab\there": "1\n",
        "line\nbreak": "1\n",
        "caf\udce9": "1\n",
        "ünï": "1\n",
        "run": (EXECUTABLE, b"#!/bin/sh\n"),
        "sub/deep/file": "x\n",
    }

    def test_names_of_every_kind_are_listed(self, git: Git) -> None:
        base = commit(git, self.FILES)
        assert sorted(git.paths(base)) == sorted([*(set(self.FILES) - {"caf\udce9"}), "caf\\xe9"])

    def test_files_are_read_at_a_commit_and_absent_ones_are_none(self, git: Git) -> None:
        base = commit(git, self.FILES)
        assert git.read(base, "sub/deep/file") == b"x\n"
        assert [git.read(base, path) for path in ("sub", "nothing", "../README.md", "")] == [None] * 4
        assert (git.has(base), git.has("0" * 40), git.has(git.tree(base))) == (True, False, False)

    def test_changes_are_counted_whatever_the_names(self, git: Git) -> None:
        base = commit(git, {"tab\there": "1\n2\n", "bin": b"\0"})
        head = commit(git, {"tab\there": "1\n3\n4\n", "bin": b"\0\0", "line\nbreak": "x\n"}, base)
        assert sorted(git.numstat(base, head)) == [("bin", 0, 0), ("line\nbreak", 1, 0), ("tab\there", 2, 1)]

    def test_a_diff_shows_renames_and_survives_other_encodings(self, git: Git) -> None:
        text = "".join(f"{number}\n" for number in range(20))
        base = commit(git, {"old.txt": text, "latin": b"caf\xe9\n"})
        head = commit(git, {"new.txt": text + "more\n", "latin": b"caf\xe9!\n"}, base)
        diff = git.diff(base, head)
        assert "rename from old.txt\nrename to new.txt\n" in diff
        assert "-caf\ufffd\n+caf\ufffd!\n" in diff

    def test_files_are_stored_byte_by_byte_in_their_order(self, git: Git, tmp_path: Path) -> None:
        names = ['"', '"\\057etc\\057passwd"', "a\nb", "c\r", "plain", "-n", " "]
        for number, name in enumerate(names):
            write(tmp_path / "odd", name, f"{number}\r\n")
        ids = git.blobs([os.fsencode(name) for name in names], cwd=tmp_path / "odd")
        assert [git.run("cat-file", "blob", id_) for id_ in ids] == [f"{n}\r\n".encode() for n in range(len(names))]

"""The sandbox on this host: who a session is, what it can see, and that nothing of it is left at its end."""

from __future__ import annotations

import os
import platform
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autobuild_action.adapters.sandbox import HostSandbox
from autobuild_action.adapters.selftest import self_test
from autobuild_action.errors import SetupError
from autobuild_action.model import Level
from autobuild_action.ports import Bounds, Ended, EndedBy, Identity, Spec
from tests.support.repos import ROOT, as_nobody, deep

NAMES = {"PATH", "LANG", "HOME", "TMPDIR", "AUTOBUILD_SESSION"}
SECRETS = (
    *("GITHUB_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_ANTHROPIC-API-KEY", "ACTIONS_RUNTIME_TOKEN", "GITHUB_ENV"),
    *("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "AWS_SECRET_ACCESS_KEY"),
)
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
PRCTL = {"x86_64": 157, "aarch64": 167}
for_root = pytest.mark.skipif(not ROOT, reason="level `uid` needs root")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every uid may pass through and none may list, as a run has it."""
    folder = Path(tempfile.mkdtemp(prefix="autobuild-test-"))
    folder.chmod(0o711)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


class Box:
    """A sandbox, and the tree of one session in it."""

    def __init__(self, place: Path, level: Level, **options: Any) -> None:
        self.place = place
        self.sandbox = HostSandbox(place / "box", level, **options)
        self.trees: dict[str, Path] = {}

    def tree(self, session: str, *, writable: bool = True) -> Path:
        if session not in self.trees:
            tree = self.trees[session] = self.place / f"tree-{session}" / "work"
            tree.mkdir(parents=True)
            (tree / "file").write_text("mine\n")
            self.sandbox.own(session, tree, writable=writable)
        return self.trees[session]

    def spec(self, *argv: str, session: str = "one", env: Mapping[str, str] | None = None, **limits: Any) -> Spec:
        return Spec(
            session=session,
            identity=Identity.CHECK,
            argv=argv,
            work=self.tree(session),
            limits=Bounds(**{"seconds": 60, **limits}),
            env=env or {},
        )

    def sh(self, script: str, *, session: str = "one", **limits: Any) -> Ended:
        return self.sandbox.run(self.spec("sh", "-c", script, session=session, **limits))

    def said(self, script: str, *, session: str = "one") -> str:
        """What a command says that ends well."""
        ended = self.sh(script, session=session)
        assert (ended.exit_code, ended.ended_by) == (0, EndedBy.EXIT), ended.output
        return ended.output.strip()


@pytest.fixture(params=[Level.NONE, pytest.param(Level.UID, marks=for_root)])
def box(request: pytest.FixtureRequest, place: Path) -> Iterator[Box]:
    made = Box(place, request.param)
    yield made
    for session in (*made.trees, "one"):
        made.sandbox.end(session)


@pytest.fixture
def uid_box(place: Path) -> Iterator[Box]:
    made = Box(place, Level.UID)
    yield made
    for session in made.trees:
        made.sandbox.end(session)


class TestRun:
    def test_exit_status_and_both_streams_come_back(self, box: Box) -> None:
        ended = box.sh("echo out; echo err >&2; exit 7")
        assert (ended.exit_code, ended.ended_by, ended.output) == (7, EndedBy.EXIT, "out\nerr\n")

    def test_stdin_is_empty_and_the_folder_is_the_tree(self, box: Box) -> None:
        assert box.said("cat; pwd") == str(box.tree("one"))

    def test_arguments_arrive_as_they_are(self, box: Box) -> None:
        odd = ("a b", "", "$(id)", "'\"", "two\nlines", "--", "-n", "*", "é")
        ended = box.sandbox.run(box.spec("printf", "<%s>", *odd))
        assert ended.output == "".join(f"<{each}>" for each in odd)

    def test_a_missing_program_is_127(self, box: Box) -> None:
        assert box.sandbox.run(box.spec("no-such-program-anywhere")).exit_code == 127

    def test_the_deadline_ends_it(self, box: Box) -> None:
        ended = box.sh("echo started; exec sleep 1000", seconds=0.3)
        assert (ended.exit_code, ended.ended_by, ended.output) == (None, EndedBy.DEADLINE, "started\n")

    def test_a_signal_ends_it(self, box: Box) -> None:
        ended = box.sh("echo dying; kill -9 $$")
        assert (ended.exit_code, ended.ended_by, ended.output) == (None, EndedBy.KILLED, "dying\n")

    def test_a_deadline_is_kept_by_what_ignores_signals(self, box: Box) -> None:
        ended = box.sh("trap '' TERM INT HUP; while :; do sleep 1000; done", seconds=0.3)
        assert ended.ended_by is EndedBy.DEADLINE

    def test_too_much_output_ends_it(self, box: Box) -> None:
        ended = box.sh("yes", output_bytes=500_000)
        assert (ended.exit_code, ended.ended_by) == (None, EndedBy.OUTPUT)
        assert len(ended.output) < 31_000

    def test_of_long_output_head_and_tail_are_kept_and_the_rest_is_counted(self, box: Box) -> None:
        output = box.sh("seq 1 100000").output
        assert output.startswith("1\n2\n3\n")
        assert output.endswith("99999\n100000\n")
        assert f"[… {588_895 - 30_000:,} bytes left out …]" in output

    def test_output_of_every_kind_is_text_afterwards(self, box: Box) -> None:
        assert box.sh(r"printf 'caf\351 \000 \033[31m'").output == "caf\ufffd \0 \x1b[31m"

    def test_who_closes_its_streams_is_still_waited_for(self, box: Box) -> None:
        assert box.sh("exec >&- 2>&-; sleep 0.2; exit 3").exit_code == 3


class TestEnvironment:
    def test_it_has_these_names_and_no_others(self, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in (*SECRETS, *PROXIES, "SSH_AUTH_SOCK", "PYTHONPATH", "LD_LIBRARY_PATH", "GIT_DIR"):
            monkeypatch.setenv(name, "secret-value" if not name.startswith("LD_") else "")
        for name in ("LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        assert set(environment(box, box.spec("env", "-0"))) == NAMES
        given = box.spec("env", "-0", env={"CI": "true"})
        assert set(environment(box, given)) == {*NAMES, "CI"}
        assert set(environment(box, replace(given, network=True))) == {*NAMES, "CI", *PROXIES}

    def test_what_a_project_needs_to_find_its_way_is_passed_on(self, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE"):
            monkeypatch.setenv(name, f"our-{name}")
        found = environment(box, box.spec("env", "-0"))
        assert {name: value for name, value in found.items() if value.startswith("our-")} == {
            name: f"our-{name}" for name in ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE")
        }
        assert found["PATH"] == os.environ["PATH"]

    def test_home_and_tmpdir_are_its_own_and_cannot_be_set_otherwise(self, box: Box) -> None:
        env = {"HOME": "/root", "TMPDIR": "/tmp", "AUTOBUILD_SESSION": "another"}
        found = environment(box, box.spec("env", "-0", env=env))
        assert found["TMPDIR"] == str(box.sandbox.temp("one"))
        assert Path(found["HOME"]).parent == Path(found["TMPDIR"]).parent
        assert found["AUTOBUILD_SESSION"].startswith("one.")

    def test_values_arrive_as_they_are(self, box: Box) -> None:
        odd = "a b'\"$(id)\n\\ é="
        assert environment(box, box.spec("env", "-0", env={"ODD": odd}))["ODD"] == odd

    def test_home_and_tmpdir_can_be_written_last_a_session_and_are_gone_at_its_end(self, box: Box) -> None:
        box.said('echo kept >"$HOME/x"; echo kept >"$TMPDIR/y"')
        assert box.said('cat "$HOME/x" "$TMPDIR/y"') == "kept\nkept"
        temp = box.sandbox.temp("one")
        box.sandbox.end("one")
        assert not temp.parent.exists()
        assert box.said('ls -A "$HOME" "$TMPDIR" | grep -v :') == ""

    def test_sessions_do_not_share_them(self, box: Box) -> None:
        box.said('echo x >"$HOME/x"; echo y >"$TMPDIR/y"')
        assert box.said('ls -A "$HOME"; ls -A "$TMPDIR"', session="two") == ""

    def test_a_home_template_is_copied_to_every_session(self, place: Path, box: Box) -> None:
        template = place / "template"
        (template / ".cache").mkdir(parents=True)
        (template / ".cache/x").write_text("cached\n")
        (template / "link").symlink_to(".cache/x")
        templated = Box(place / "other", box.sandbox.level, home_template=template)
        (place / "other").chmod(0o711)
        try:
            for session in ("one", "two"):
                assert (
                    templated.said("cat ~/link; echo mine >~/.cache/x; cat ~/link", session=session) == "cached\nmine"
                )
        finally:
            for session in ("one", "two"):
                templated.sandbox.end(session)
        assert (template / ".cache/x").read_text() == "cached\n"


class TestEnd:
    @pytest.mark.parametrize(
        "escape",
        [
            "sleep 1000 &",
            "nohup sleep 1000 >/dev/null 2>&1 &",
            "setsid sleep 1000 &",
            "setsid nohup sh -c 'sleep 1000 & sleep 1001' >/dev/null 2>&1 </dev/null &",
            "(setsid sh -c '(sleep 1000 &)' &)",
        ],
        ids=["background", "nohup", "setsid", "setsid nohup", "double fork"],
    )
    def test_no_survivor_of_a_command(self, box: Box, escape: str) -> None:
        """H-48: whatever was left in the background is dead when the command's end is told."""
        ended = box.sh(f"{escape}\necho over")
        assert (ended.exit_code, ended.output) == (0, "over\n")
        assert alive(box, "one") == []

    def test_no_survivor_of_a_launched_session(self, box: Box) -> None:
        launcher = box.sandbox.launcher(box.spec("sh", "-c"))
        script = "setsid sleep 1000 >/dev/null & echo started; exec sleep 1001 >/dev/null"
        with subprocess.Popen([launcher, script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            assert len(alive(box, "one")) >= 2
            box.sandbox.end("one")
        assert alive(box, "one") == []

    def test_a_session_of_the_same_name_in_another_run_lives_on(self, box: Box, place: Path) -> None:
        other = Box(place / "other-run", box.sandbox.level)
        (place / "other-run").chmod(0o711)
        launcher = other.sandbox.launcher(other.spec("sh", "-c", "echo started; exec cat"))
        try:
            with subprocess.Popen([launcher], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                assert process.stdout.readline() == "started\n"
                box.said("true")
                box.sandbox.end("one")
                process.stdin.write("alive\n")
                process.stdin.close()
                assert process.stdout.read() == "alive\n"
        finally:
            other.sandbox.end("one")

    def test_other_sessions_live_on(self, box: Box) -> None:
        launcher = box.sandbox.launcher(box.spec("sh", "-c", "echo started; exec cat", session="two"))
        with subprocess.Popen([launcher], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            box.said("sleep 0.1 &")
            box.sandbox.end("one")
            process.stdin.write("alive\n")
            process.stdin.close()
            assert process.stdout.read() == "alive\n"
            assert process.wait() == 0

    def test_it_may_be_ended_twice_or_without_a_beginning(self, box: Box) -> None:
        box.said("true")
        for session in ("one", "one", "never"):
            box.sandbox.end(session)

    def test_folders_deeper_than_python_goes_and_closed_ones_are_removed(self, box: Box) -> None:
        box.said('mkdir -p "$TMPDIR/closed/x"; chmod 0 "$TMPDIR/closed"')
        temp = box.sandbox.temp("one")
        deep(temp, "n", 1100)
        box.sandbox.end("one")
        assert not temp.parent.exists()


class TestLauncher:
    def test_streams_and_arguments_pass_through(self, box: Box) -> None:
        launcher = box.sandbox.launcher(box.spec("sh", "-c", 'cat; echo err >&2; printf "<%s>" "$@"; exit 5', "sh"))
        odd = ("a b", "", "$(id)", "'\"", "two\nlines", "*")
        done = subprocess.run([launcher, *odd], input=b"in\0\xff", capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (5, b"err\n")
        assert done.stdout == b"in\0\xff" + "".join(f"<{each}>" for each in odd).encode()

    def test_it_is_one_process_with_the_sessions_identity_and_environment(
        self, box: Box, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "secret-value")
        launcher = box.sandbox.launcher(box.spec("sh", "-c", "echo $$ $(id -u); env"))
        with subprocess.Popen([launcher], stdout=subprocess.PIPE, text=True) as process:
            output = process.communicate()[0]
        pid, uid = output.splitlines()[0].split()
        assert int(pid) == process.pid
        assert (int(uid) == os.geteuid()) == (box.sandbox.level is Level.NONE)
        assert "secret-value" not in output

    @for_root
    def test_it_dies_with_who_started_it(self, uid_box: Box) -> None:
        launcher = uid_box.sandbox.launcher(uid_box.spec("sh", "-c", "echo $$; exec sleep 1000 >/dev/null"))
        parent = subprocess.Popen(["sh", "-c", f"'{launcher}'; :"], stdout=subprocess.PIPE, text=True)
        with parent:
            assert parent.stdout is not None
            child = os.pidfd_open(int(parent.stdout.readline()))
            try:
                parent.send_signal(signal.SIGKILL)
                assert select.select([child], [], [], 30)[0] == [child]
            finally:
                os.close(child)


@for_root
class TestUid:
    def test_it_is_nobody_with_no_rights(self, uid_box: Box) -> None:
        groups_before = os.getgroups()
        os.setgroups([4242])
        try:
            uid, gid, groups = uid_box.said("id -u; id -g; id -G").splitlines()
        finally:
            os.setgroups(groups_before)
        assert uid == gid == groups
        assert int(uid) not in {entry.pw_uid for entry in pwd.getpwall()} | {0}
        status = dict(line.split(":\t", 1) for line in uid_box.said("cat /proc/self/status").splitlines())
        assert status["NoNewPrivs"] == "1"
        assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}

    def test_every_session_is_somebody_else_every_time(self, uid_box: Box) -> None:
        first, again, other = (uid_box.said("id -u", session=name) for name in ("one", "one", "two"))
        uid_box.sandbox.end("one")
        assert first == again != other
        assert uid_box.said("cd /; id -u") not in {first, other}

    def test_its_tree_is_its_own_to_read_and_write(self, uid_box: Box) -> None:
        assert uid_box.said("cat file; echo more >>file; echo new >new; mkdir sub; cat file") == "mine\nmine\nmore"

    def test_the_tree_of_another_session_can_neither_be_read_nor_entered(self, uid_box: Box) -> None:
        theirs = uid_box.tree("two")
        home = uid_box.sandbox.temp("two").parent / "home"
        for path in (theirs, theirs / "file", theirs.parent, home, uid_box.sandbox.temp("two")):
            assert uid_box.sh(f"cat {path} || ls {path}").exit_code != 0
            assert uid_box.sh(f"cd {path} && echo x >x").exit_code != 0
        assert uid_box.sh(f"ls {uid_box.place}").exit_code != 0

    def test_a_tree_not_to_be_written_cannot_be(self, uid_box: Box) -> None:
        tree = uid_box.tree("reader", writable=False)
        ended = uid_box.sh("cat file; echo x >file; rm -f file; mkdir sub; chmod 777 .; ls", session="reader")
        assert (ended.exit_code, (tree / "file").read_text()) == (0, "mine\n")
        assert ended.output.splitlines()[0] == "mine"
        assert ended.output.splitlines()[-1] == "file"
        assert os.listdir(tree) == ["file"]  # noqa: PTH208  names are enough

    def test_a_link_in_a_tree_gives_nothing_outside_away(self, uid_box: Box) -> None:
        outside = uid_box.place / "outside"
        outside.mkdir(mode=0o700)
        (outside / "secret").write_text("secret\n")
        tree = uid_box.tree("one")
        (tree / "link").symlink_to(outside)
        (tree / "file-link").symlink_to(outside / "secret")
        uid_box.sandbox.own("one", tree, writable=True)
        assert (outside.stat().st_uid, (outside / "secret").stat().st_uid) == (0, 0)
        assert uid_box.sh("cat link/secret file-link").exit_code != 0

    def test_we_and_our_files_are_out_of_reach(self, uid_box: Box) -> None:
        ours = os.getpid()
        for attempt in (f"cat /proc/{ours}/environ", f"kill -0 {ours}", f"ls /proc/{ours}/fd", "cat /etc/shadow"):
            assert uid_box.sh(attempt).exit_code != 0, attempt
        assert uid_box.sh("kill -9 -1; true").ended_by in {EndedBy.KILLED, EndedBy.EXIT}

    def test_a_fork_bomb_is_bounded_and_ended(self, uid_box: Box) -> None:
        """H-47."""
        uid = uid_box.said("id -u")
        ended = uid_box.sh("b() { b | b & }; b; sleep 1000", seconds=1, processes=40)
        assert ended.ended_by in {EndedBy.DEADLINE, EndedBy.EXIT, EndedBy.KILLED}
        assert owned_by(int(uid)) == []

    def test_a_process_that_hides_its_owner_is_ended(self, uid_box: Box) -> None:
        """Undumpable, its files in /proc belong to root."""
        perl, number = shutil.which("perl"), PRCTL.get(platform.machine())
        if not perl or not number:
            pytest.skip("perl makes the system call")
        hide = f"syscall({number}, 4, 0, 0, 0, 0); mkdir q(hidden); sleep 1000"
        uid = uid_box.said("id -u")
        uid_box.said(f"setsid perl -e '{hide}' & until [ -e hidden ]; do :; done")
        assert owned_by(int(uid)) == []

    def test_a_file_has_a_largest_size(self, uid_box: Box) -> None:
        assert uid_box.sh("head -c 300000 /dev/zero >big", file_bytes=100_000).exit_code != 0
        assert (uid_box.tree("one") / "big").stat().st_size == 100_000

    def test_it_cannot_be_had_without_root(self, place: Path) -> None:
        assert as_nobody(place, lambda: refusal(place)).startswith("Isolation level `uid` needs root")


def refusal(place: Path) -> str:
    try:
        HostSandbox(place / "box", Level.UID)
    except SetupError as exc:
        return exc.what
    return ""


class NoDrop(HostSandbox):
    def _drop(self, session: str) -> list[str]:  # noqa: ARG002  the weakness
        return []


class SomeDrop(HostSandbox):
    """Leaves out one option of setpriv."""

    left_out = ""
    instead = ""

    def _drop(self, session: str) -> list[str]:
        kept = [part for part in super()._drop(session) if not part.startswith(self.left_out)]
        return [*kept[:-1], *([self.instead] if self.instead else []), "--"]


class NewPrivileges(SomeDrop):
    left_out = "--no-new-privs"


class Capabilities(SomeDrop):
    left_out = "--bounding-set"


class RootsGroup(SomeDrop):
    left_out = "--regid"
    instead = "--regid=0"


class Leaky(HostSandbox):
    def _environment(self, spec: Spec) -> dict[str, str]:
        return super()._environment(spec) | {"GITHUB_TOKEN": "secret"}


class Hasty(HostSandbox):
    def run(self, spec: Spec) -> Ended:
        return super().run(replace(spec, argv=("true",)))


@for_root
class TestSelfTest:
    def test_it_passes_and_leaves_nothing(self, place: Path) -> None:
        self_test(HostSandbox(place / "box", Level.UID), git_folder(place), place / "probe" / "work")
        assert list((place / "box").iterdir()) == []

    @pytest.mark.parametrize(
        ("kind", "breaches"),
        [
            (NoDrop, ("it runs as root", "can be signalled", "/etc/shadow can be read", "environment can be read")),
            (NewPrivileges, ("new privileges can be had",)),
            (Capabilities, ("capabilities are left",)),
            (RootsGroup, ("it has root's group",)),
            (Leaky, ("a secret's variable is set",)),
            (Hasty, ("did not run to their end",)),
        ],
    )
    def test_a_weakened_sandbox_is_refused_and_the_breach_named(
        self, place: Path, kind: type[HostSandbox], breaches: tuple[str, ...]
    ) -> None:
        with pytest.raises(SetupError) as caught:
            self_test(kind(place / "box", Level.UID), git_folder(place), place / "probe" / "work")
        for words in ("level `uid` leaks", *breaches):
            assert words in caught.value.what
        assert not Path("/etc/autobuild-probe").exists()
        assert list((place / "box").iterdir()) == []

    def test_a_git_directory_open_to_others_is_named(self, place: Path) -> None:
        folder = git_folder(place)
        folder.chmod(0o755)
        with pytest.raises(SetupError, match="git directory can be listed"):
            self_test(HostSandbox(place / "box", Level.UID), folder, place / "probe" / "work")


def test_level_none_promises_nothing(place: Path) -> None:
    self_test(HostSandbox(place / "box", Level.NONE), place, place / "probe" / "work")


def git_folder(place: Path) -> Path:
    folder = place / "git"
    folder.mkdir(mode=0o700)
    return folder


def environment(box: Box, spec: Spec) -> dict[str, str]:
    """The environment of a process there, as it says itself."""
    lines = box.sandbox.run(spec).output.split("\0")
    return dict(line.split("=", 1) for line in lines if line)


def alive(box: Box, session: str) -> list[int]:
    """Processes that carry the session's mark."""
    mark = f"AUTOBUILD_SESSION={box.sandbox.mark(session)}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def owned_by(uid: int) -> list[str]:
    """Living processes of a uid."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (process / "status").read_text()
            if f"\nUid:\t{uid}\t" in status and "\nState:\tZ" not in status:
                found.append(status)
    return found

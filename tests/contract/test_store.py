"""The journal and the lease on real refs over HTTP: compare-and-swap, races, dead holders, and what is read back."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autobuild_action import journal as journals
from autobuild_action.adapters import store
from autobuild_action.adapters.git import Git, Remote
from autobuild_action.adapters.store import JournalStore, LeaseStore
from autobuild_action.errors import ForgeError, JournalError, PushRefusedError, RunningError, SupersededError
from autobuild_action.model import Baseline, Committed, Intent, RunId
from simulators.github import Fault, GitHub, Repository
from tests.support import build
from tests.support.repos import AUTHOR, bare, commit

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact

JOURNAL, LEASE = store.refs(1)
BRANCH = "refs/heads/autobuild/issue-1"
RUN = RunId(id="11", attempt=1, url="https://github.example/runs/11")
OTHER = RunId(id="12", attempt=1, url="https://github.example/runs/12")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RACES = 20


@pytest.fixture
def journal() -> Journal:
    return store.new("octo/calc", 1, "autobuild/issue-1", "main")


@pytest.fixture
def log(git: Git, journal: Journal) -> JournalStore:
    return JournalStore(git, AUTHOR, journal, RUN)


def pushed(repo: Repository) -> Journal:
    """The journal that the server has."""
    return journals.loads(repo.git("cat-file", "blob", f"{JOURNAL}:journal.json"))


def links(repo: Repository, ref: str) -> int:
    """How long the chain of commits is on the server."""
    return int(repo.git("rev-list", "--count", ref))


class TestJournal:
    def test_every_addition_is_on_the_remote_when_it_returns(self, repo: Repository, log: JournalStore) -> None:
        facts: tuple[Fact, ...] = (build.started(), Baseline(checks=(build.check(),)), build.player(1))
        for number, fact in enumerate(facts, 1):
            log.add(fact)
            assert pushed(repo) == log.journal
            assert len(pushed(repo).facts) == number

    def test_it_is_a_chain_of_commits_with_one_file(self, repo: Repository, log: JournalStore) -> None:
        log.add(build.started())
        log.add(Baseline(checks=()))
        assert list(repo.git.files(JOURNAL)) == ["journal.json"]
        assert links(repo, JOURNAL) == 2

    def test_a_commit_takes_its_branch_along(self, git: Git, repo: Repository, log: JournalStore) -> None:
        work = commit(git, {"calc.py": "better\n"}, head_of(repo))
        log.add(build.started())
        log.add(build.player(1), committed(work))
        assert repo.git.refs()[BRANCH] == work
        assert pushed(repo) == log.journal

    @pytest.mark.parametrize("refused", [BRANCH, JOURNAL])
    def test_branch_and_journal_arrive_together_or_not_at_all(
        self, git: Git, repo: Repository, log: JournalStore, refused: str
    ) -> None:
        log.add(build.started())
        before = repo.git.refs()
        repo.refuse_pushes({refused: "not here"})
        with pytest.raises(PushRefusedError, match="not here"):
            log.add(committed(commit(git, {"a": "1"}, head_of(repo))))
        assert repo.git.refs() == before
        assert pushed(repo) == log.journal, "what is not on the remote did not happen"

    def test_after_a_refusal_it_goes_on(self, repo: Repository, log: JournalStore) -> None:
        repo.refuse_pushes({"*": "closed"})
        with pytest.raises(PushRefusedError):
            log.add(build.started())
        repo.refuse_pushes({})
        log.add(build.started(max_turns=3))
        assert pushed(repo).facts == (build.started(max_turns=3),)

    def test_notes_go_with_the_next_push(self, repo: Repository, log: JournalStore) -> None:
        log.add(build.started())
        log.note(Intent(key="1/0/status"))
        assert len(pushed(repo).facts) == 1
        log.add(Baseline(checks=()))
        assert pushed(repo).facts == (build.started(), Intent(key="1/0/status"), Baseline(checks=()))

    def test_nothing_new_is_not_pushed(self, hub: GitHub, log: JournalStore) -> None:
        log.add(build.started())
        before = len(hub.journal)
        log.add()
        assert len(hub.journal) == before

    def test_notes_alone_can_be_pushed(self, repo: Repository, log: JournalStore) -> None:
        log.add(build.started())
        log.note(Intent(key="1/0/status"))
        log.add()
        assert pushed(repo) == log.journal

    def test_of_two_writers_the_second_is_superseded_and_nothing_is_lost(
        self, repo: Repository, git: Git, log: JournalStore
    ) -> None:
        log.add(build.started())
        head = repo.git.sha(JOURNAL)
        late = JournalStore(git, AUTHOR, log.journal, OTHER, head=head)
        log.add(Baseline(checks=()))
        with pytest.raises(SupersededError):
            late.add(Intent(key="1/0/status"))
        assert pushed(repo) == log.journal
        assert late.journal.facts == (build.started(),)

    def test_of_two_first_writers_the_second_is_superseded(self, repo: Repository, git: Git, log: JournalStore) -> None:
        log.add(build.started())
        stranger = JournalStore(git, AUTHOR, store.new("octo/calc", 1, "autobuild/issue-1", "main"), OTHER)
        with pytest.raises(SupersededError):
            stranger.add(build.started())
        assert pushed(repo) == log.journal

    @pytest.mark.parametrize("fault", [Fault(when="after"), Fault(when="after", drop=True), Fault(), Fault(drop=True)])
    def test_a_lost_or_broken_push_leaves_one_chain(
        self, repo: Repository, hub: GitHub, log: JournalStore, fault: Fault
    ) -> None:
        log.add(build.started())
        left = [fault]
        hub.fault = lambda _, path, __: left.pop() if left and path.endswith("/git-receive-pack") else None
        log.add(Baseline(checks=()))
        log.add(build.player(1))
        assert not left
        assert pushed(repo) == log.journal
        assert links(repo, JOURNAL) == 3

    def test_another_process_goes_on_from_the_remote(self, repo: Repository, git: Git, log: JournalStore) -> None:
        log.add(build.started())
        head = repo.git.sha(JOURNAL)
        later = JournalStore(git, AUTHOR, pushed(repo), OTHER, head=head)
        later.add(Baseline(checks=()))
        assert pushed(repo).facts == (build.started(), Baseline(checks=()))
        assert pushed(repo).entries[-1].run == OTHER

    @pytest.mark.parametrize(
        ("files", "words"),
        [
            ({"other": "1"}, "no journal.json"),
            ({"journal.json": "{"}, "not readable"),
            ({"journal.json": b"\xff\xfe"}, "not readable"),
            ({"journal.json": '{"schema": 2}'}, "schema 2"),
        ],
    )
    def test_what_is_no_journal_is_refused(self, git: Git, files: dict[str, str | bytes], words: str) -> None:
        with pytest.raises(JournalError, match=words):
            store.read(git, commit(git, files))

    def test_texts_of_every_kind_survive(self, repo: Repository, log: JournalStore) -> None:
        fact: Fact = Intent(key="line\nbreak\t\u202e\x00 ünï \U0001f600")
        log.add(build.started(), fact)
        assert pushed(repo).facts[1] == fact


class TestLease:
    @pytest.fixture
    def lease(self, git: Git) -> LeaseStore:
        return LeaseStore(git, AUTHOR, 1, is_over=never)

    def test_a_free_issue_is_taken(self, repo: Repository, lease: LeaseStore) -> None:
        take(lease, None)
        kept = content(repo)
        assert kept["run"] == {"id": "11", "attempt": 1, "url": RUN.url}
        assert datetime.fromisoformat(kept["deadline"]) == NOW + timedelta(seconds=600) + store.GRACE
        assert kept["journal_id"] == "j"

    def test_a_living_holder_is_named(self, repo: Repository, git: Git, lease: LeaseStore) -> None:
        head = take(lease, None)
        with pytest.raises(RunningError) as caught:
            take(LeaseStore(git, AUTHOR, 1, is_over=never), head, run=OTHER)
        assert caught.value.cure == RUN.url
        assert content(repo)["run"]["id"] == "11"

    @pytest.mark.parametrize(
        ("late", "over"),
        [(timedelta(seconds=600) + store.GRACE, False), (timedelta(0), True)],
        ids=["its deadline is past", "its run is over"],
    )
    def test_a_dead_holder_is_followed(
        self, repo: Repository, git: Git, lease: LeaseStore, late: timedelta, *, over: bool
    ) -> None:
        asked: list[RunId] = []

        def is_over(run: RunId) -> bool:
            asked.append(run)
            return over

        head = take(lease, None)
        take(LeaseStore(git, AUTHOR, 1, is_over=is_over), head, run=OTHER, now=NOW + late)
        assert content(repo)["run"]["id"] == "12"
        assert asked in ([], [RUN])

    def test_until_its_deadline_a_holder_lives(self, git: Git, lease: LeaseStore) -> None:
        head = take(lease, None)
        late = NOW + timedelta(seconds=599) + store.GRACE
        with pytest.raises(RunningError):
            take(LeaseStore(git, AUTHOR, 1, is_over=never), head, run=OTHER, now=late)

    def test_the_same_run_takes_its_own_lease_again_but_not_its_next_attempt(self, git: Git, lease: LeaseStore) -> None:
        head = take(lease, None)
        head = take(LeaseStore(git, AUTHOR, 1, is_over=never), head)
        again = RunId(id=RUN.id, attempt=2, url=RUN.url)
        with pytest.raises(RunningError):
            take(LeaseStore(git, AUTHOR, 1, is_over=never), head, run=again)

    def test_a_lease_let_go_is_free_at_once(self, repo: Repository, git: Git, lease: LeaseStore) -> None:
        take(lease, None)
        lease.release(NOW)
        lease.release(NOW)
        head = repo.git.sha(LEASE)
        assert links(repo, LEASE) == 2, "the second release has nothing to let go"
        take(LeaseStore(git, AUTHOR, 1, is_over=never), head, run=OTHER)
        assert content(repo)["run"]["id"] == "12"

    def test_letting_go_never_takes_it_from_a_successor(self, repo: Repository, git: Git, lease: LeaseStore) -> None:
        head = take(lease, None)
        take(LeaseStore(git, AUTHOR, 1, is_over=lambda _: True), head, run=OTHER)
        with suppress(SupersededError):
            lease.release(NOW)
        assert content(repo)["run"]["id"] == "12"

    def test_a_holder_that_came_after_the_fetch_wins(self, git: Git, lease: LeaseStore) -> None:
        take(lease, None)
        with pytest.raises(RunningError, match="same moment"):
            take(LeaseStore(git, AUTHOR, 1, is_over=never), None, run=OTHER)

    def test_a_lost_answer_is_read_back(self, repo: Repository, hub: GitHub, lease: LeaseStore) -> None:
        left = [Fault(when="after")]
        hub.fault = lambda _, path, __: left.pop() if left and path.endswith("/git-receive-pack") else None
        take(lease, None)
        lease.release(NOW)
        assert content(repo)["deadline"] == NOW.isoformat()

    def test_a_refused_lease_is_an_error_with_the_servers_words(self, repo: Repository, lease: LeaseStore) -> None:
        repo.refuse_pushes({"refs/autobuild/*": "no such refs here"})
        with pytest.raises(ForgeError, match="no such refs here"):
            take(lease, None)


def test_of_two_processes_exactly_one_takes_the_issue(
    repo: Repository, token: str, tmp_path: Path, racers: Callable[[int], list[Connection]]
) -> None:
    """Real processes with a git directory each; half of the races are for a free lease, half for a dead one's."""
    lines = racers(2)
    for number, line in enumerate(lines):
        line.send((str(tmp_path / f"git-{number}"), repo.clone_url, token))
        assert line.recv() == "ready"
    for turn in range(RACES):
        issue = turn % (RACES // 2) + 1  # the second round finds the first one's leases let go
        head = repo.git.refs().get(store.refs(issue)[1])
        for number, line in enumerate(lines):
            line.send((issue, head, str(turn * 10 + number)))
        outcomes = [line.recv() for line in lines]
        assert sorted(outcomes) == ["lost", "won"], f"race {turn}"
        winner = str(turn * 10 + outcomes.index("won"))
        kept = json.loads(repo.git.files(repo.git.refs()[store.refs(issue)[1]])["lease.json"])
        assert kept["run"]["id"] == winner


@pytest.fixture
def racers() -> Iterator[Callable[[int], list[Connection]]]:
    context = multiprocessing.get_context("forkserver")
    processes, lines = [], []

    def start(number: int) -> list[Connection]:
        for _ in range(number):
            ours, theirs = context.Pipe()
            process = context.Process(target=race, args=(theirs,))
            process.start()
            theirs.close()
            processes.append(process)
            lines.append(ours)
        return lines

    yield start
    for line in lines:
        with suppress(OSError):
            line.send(None)
        line.close()
    for process in processes:
        process.join(20)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()


def race(line: Connection) -> None:
    """One run: takes the lease whenever it is told to."""
    folder, url, token = line.recv()
    git = bare(Path(folder), Remote(url=url, token=token))
    line.send("ready")
    while task := line.recv():
        issue, head, run = task
        if head:
            git.fetch(head)
        lease = LeaseStore(git, AUTHOR, issue, is_over=never)
        try:
            mine = RunId(id=run, attempt=1, url=f"https://github.example/runs/{run}")
            lease.take("j", mine, seconds=-1000, head=head, now=NOW)
        except RunningError:
            line.send("lost")
        except Exception as exc:  # noqa: BLE001  the test shows it
            line.send(f"{type(exc).__name__}: {exc}")
        else:
            line.send("won")


def take(lease: LeaseStore, head: str | None, *, run: RunId = RUN, now: datetime = NOW) -> str:
    """Answers the commit of the lease."""
    lease.take("j", run, seconds=600, head=head, now=now)
    assert lease._held  # noqa: SLF001  what the server has, spared a request
    return lease._held[0]  # noqa: SLF001


def content(repo: Repository) -> Any:
    """The lease that the server has."""
    return json.loads(repo.git("cat-file", "blob", f"{LEASE}:lease.json"))


def never(_: RunId) -> bool:
    return False


def head_of(repo: Repository) -> str:
    return repo.git.sha("refs/heads/main")


def committed(work: str) -> Fact:
    return Committed(turn=1, commit=work, tree=work)


def test_a_journal_is_read_whatever_kinds_a_newer_version_added() -> None:
    text = journals.dumps(build.approved())
    document = json.loads(text)
    document["facts"].insert(1, {"seq": 99, "kind": "from_the_future", "at": "x", "run": {}})
    assert journals.loads(json.dumps(document)) == build.approved()

"""A run that is killed outright: the next one goes on where its journal ends, and nothing is there twice."""

from __future__ import annotations

from pathlib import Path

from simulators.github import Event
from tests.support.world import SUB, World, approves, builds, markers, world


def killed_at(it: World, event: Event, words: str) -> None:
    """Deliver an event, kill the job once its log says ``words``, and tell GitHub that it is over."""

    def on_line(line: str) -> None:
        if words in line and it.runner.process:
            it.runner.process.kill()

    step = it.runner.run(event, on_line=on_line)
    assert step.exit_code == -9
    it.repo.add_run(1000 + it.runner.jobs, status="completed", conclusion="failure")


def test_a_run_killed_after_its_commit_is_taken_up_without_paying_the_player_again(tmp_path: Path) -> None:
    with world(tmp_path, player=[builds()], coach=[approves()]) as it:
        killed_at(it, it.repo.label_event(it.issue, "autobuild", sender="alice"), "check `tests` passed: exit 0")
        killed_at(it, it.repo.label_event(it.issue, "autobuild", sender="alice"), "commit ")
        assert len(it.commits) == 1
        step = it.label()
        it.check()
        assert step.outputs["result"] == "approved"
        assert len(it.commits) == 1
        assert len(it.repo.pulls) == 1
        assert it.pull.draft is False
        assert [markers(text) for text in it.said] == [["1/0/status"]]
        assert len(it.repo.reviews(it.pull.number)) == 1


def test_a_retry_with_words_reports_the_dead_attempt_first_and_begins_another(tmp_path: Path) -> None:
    with world(
        tmp_path, player=[builds(), builds(f"{SUB}\n# once more\n", expect=["start over"])], coach=[approves()]
    ) as it:
        killed_at(it, it.repo.label_event(it.issue, "autobuild", sender="alice"), "commit ")
        step = it.comment("/autobuild retry start over")
        assert [markers(text) for text in it.said] == [["1/0/status"], ["1/0/report"], ["2/0/status"]]
        assert it.said[1].startswith("### Cancelled")
        assert (step.outputs["result"], step.outputs["turns"]) == ("approved", "1")
        it.check()

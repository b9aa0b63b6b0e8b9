"""Ends of a run other than its completion, stops, and revivals: what each means for its item and for the queue."""

import pytest

import state
from state import get_task, pause, resume
from state.errors import (
    ProjectNotFound,
    QueueAlreadyRunning,
    RunReplaced,
)
from state.projects.items import retry_item
from state.projects.queue import force_stop, start_run, stop
from state.projects.reads import list_items, list_runs
from state.tasks.ids import new_project_id
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject
from tests.projects.looks import queue, reasons, statuses
from tests.support.observer import Observer


@pytest.mark.parametrize("mode", ["single", "loop"])
def test_stop_lets_the_current_item_end(make_project: MakeProject, by_hand: WorkerByHand, mode: str) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, mode)  # type: ignore[arg-type]
    claimed, _ = by_hand.take()
    assert stop(project_id).queue_state.should_stop
    stop(project_id)  # changes nothing more
    assert queue(project_id).is_running
    by_hand.complete(claimed)
    assert (queue(project_id).is_running, queue(project_id).should_stop) == (False, False)
    assert statuses(project_id) == ["completed", "pending"]
    assert reasons(project_id)[-2:] == [
        ("running", "stopping", "stop requested"),
        ("stopping", "stopped", "stop requested"),
    ]
    assert by_hand.claim_none()
    start_run(project_id, "loop")


def test_stop_cancels_a_run_that_has_not_begun(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    run_id = start_run(project_id, "loop")
    assert not stop(project_id).queue_state.is_running
    assert (get_task(run_id).status, statuses(project_id)) == ("canceled", ["pending"])
    assert list_runs(project_id)[0].reason == "stop requested"
    assert by_hand.claim_none()


def test_stop_between_the_claim_and_the_item(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    start_run(project_id, "loop")
    claimed = by_hand.claim()
    assert stop(project_id).queue_state.is_running  # a worker has it
    assert by_hand.begin(claimed) is None
    by_hand.complete(claimed)
    assert (statuses(project_id), list_runs(project_id)[0].reason) == (["pending"], "stop requested")


def test_stop_of_a_queue_that_does_not_run(make_project: MakeProject) -> None:
    project_id = make_project("a")
    assert not stop(project_id).queue_state.should_stop
    assert force_stop(project_id).success
    with pytest.raises(ProjectNotFound):
        stop(new_project_id())


def test_a_canceled_run_fails_its_item_and_stops_the_queue(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    state.cancel(claimed.id)
    assert by_hand.release(claimed) == "canceled"
    assert statuses(project_id) == ["failed", "pending"]
    assert (queue(project_id).is_running, list_runs(project_id)[0].reason) == (False, "run canceled")
    start_run(project_id, "loop")


def test_a_paused_run_holds_the_queue(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    pause(claimed.id)
    assert by_hand.release(claimed) == "paused"
    held = queue(project_id)
    assert (held.is_running, held.paused, held.run_status) == (True, True, "paused")
    assert statuses(project_id) == ["in_progress", "pending"]
    with pytest.raises(QueueAlreadyRunning):
        start_run(project_id, "loop")
    resume(claimed.id)
    again, item = by_hand.take()
    assert item is not None
    assert (again.id, item.title) == (claimed.id, "a")
    by_hand.complete(again)
    assert by_hand.take()[1] is not None


def test_a_dead_run_is_revived_with_its_item(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, first = by_hand.take()
    by_hand.fail(claimed)
    state.retry(claimed.id)
    assert (queue(project_id).is_running, queue(project_id).mode) == (True, "loop")
    assert (queue(project_id).last_error, statuses(project_id)) == (None, ["in_progress", "pending"])
    assert reasons(project_id)[-1] == ("stopped", "running", "run revived")
    again, second = by_hand.take()
    assert second == first
    by_hand.complete(again)
    assert statuses(project_id) == ["completed", "pending"]
    assert queue(project_id).is_running  # the loop goes on


def test_a_dead_run_is_not_revived_beside_a_live_one(
    make_project: MakeProject, by_hand: WorkerByHand, connection: Observer
) -> None:
    project_id = make_project("a", "b", "c")
    start_run(project_id, "single")
    dead, _ = by_hand.take()
    by_hand.fail(dead)
    live = start_run(project_id, "loop")
    for revive in (state.retry, state.resume):
        with pytest.raises(QueueAlreadyRunning) as refused:
            revive(dead.id)
        assert refused.value.run_id == live
    assert get_task(dead.id).status == "dead"
    with pytest.raises(Exception, match="has taken its place") as by_sql:  # the last defense
        connection.execute("UPDATE callboard.tasks SET status = 'queued', finished_at = NULL WHERE id = %s", [dead.id])
    assert getattr(by_sql.value, "sqlstate", None) == "CB002"


def test_a_redrive_leaves_out_what_cannot_be_revived(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    """One project has a live run, one has two dead runs, and one has a single dead run."""
    busy, twice, once = make_project("a", "b"), make_project("c", "d"), make_project("e")
    for project_id in (busy, twice, twice, once):
        start_run(project_id, "single")
        by_hand.fail(by_hand.take()[0])
    live = start_run(busy, "single")
    assert state.redrive(actor="project_run", dry_run=True).skipped == 2
    done = state.redrive(actor="project_run")
    assert (done.tasks, done.skipped) == (2, 2)
    assert queue(busy).current_run_id == live
    assert queue(twice).is_running
    assert queue(once).is_running
    assert statuses(twice) == ["in_progress", "failed"]


def test_a_dead_run_whose_item_was_taken_over_stays_dead(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    start_run(project_id, "single")
    dead, _ = by_hand.take()
    by_hand.fail(dead)
    retry_item(project_id, list_items(project_id)[0].item_id)
    start_run(project_id, "single")
    by_hand.complete(by_hand.take()[0])
    with pytest.raises(RunReplaced):
        state.retry(dead.id)
    assert statuses(project_id) == ["completed"]


def test_a_revived_run_takes_back_an_item_that_was_put_back(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    start_run(project_id, "single")
    dead, _ = by_hand.take()
    by_hand.fail(dead)
    retry_item(project_id, list_items(project_id)[0].item_id)
    state.retry(dead.id)
    assert statuses(project_id) == ["in_progress"]
    by_hand.complete(by_hand.take()[0])
    assert statuses(project_id) == ["completed"]


def test_a_dismissed_run_stays_ended(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    dead, _ = by_hand.take()
    by_hand.fail(dead)
    state.dismiss(dead.id)
    assert list_runs(project_id)[0].outcome == "canceled"
    assert (queue(project_id).is_running, statuses(project_id)) == (False, ["failed", "pending"])
    assert len(reasons(project_id)) == 3

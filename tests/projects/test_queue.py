"""The queue of a project, step by step: starts, items and completions."""

from pathlib import Path

import pytest

import state
from state import get_task
from state.errors import (
    IllegalItemStatus,
    InvalidPayload,
    ItemNotFound,
    LeaseLost,
    ProjectNotFound,
    QueueAlreadyRunning,
)
from state.projects.items import NewItem, add_items, create_project, retry_item
from state.projects.queue import start_run
from state.projects.reads import list_items, list_projects, list_runs
from state.tasks.ids import new_item_id, new_project_id
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject, make_item
from tests.projects.looks import queue, reasons, statuses


def test_a_single_run_does_one_item(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    assert not queue(project_id).is_running
    run_id = start_run(project_id, "single")
    started = queue(project_id)
    assert (started.is_running, started.current_run_id) == (True, run_id)
    assert (started.mode, started.should_stop, started.stopped_at, started.paused) == ("single", False, None, False)
    assert started.elapsed_seconds is not None
    assert statuses(project_id) == ["pending", "pending"]  # the item is chosen when the run starts
    claimed, item = by_hand.take()
    assert item is not None
    assert (claimed.id, item.title) == (started.current_run_id, "a")
    assert statuses(project_id) == ["in_progress", "pending"]
    assert by_hand.complete(claimed, {"pages": 3}) == "completed"
    after = queue(project_id)
    assert not after.is_running
    assert (after.mode, after.current_run_id, after.last_error) == (None, None, None)
    assert after.stopped_at is not None
    first, second = list_items(project_id)
    assert (first.status, first.result, first.runs, first.run_id) == ("completed", {"pages": 3}, 1, claimed.id)
    assert second.status == "pending"
    [run] = list_runs(project_id)
    assert (run.run_id, run.outcome, run.reason, run.item_id) == (
        claimed.id,
        "completed",
        "single run finished",
        first.item_id,
    )
    assert run.seconds is not None
    assert reasons(project_id) == [
        (None, "stopped", "created"),
        ("stopped", "running", "started"),
        ("running", "stopped", "single run finished"),
    ]
    assert by_hand.claim_none()


def test_a_loop_does_all_items_by_priority_and_position(
    make_project: MakeProject, by_hand: WorkerByHand, diary: Path
) -> None:
    project_id = make_project("a", "b")
    add_items(project_id, [make_item(diary, "urgent", priority="critical"), make_item(diary, "later", priority=3)])
    start_run(project_id, "loop")
    done = []
    for _ in range(4):
        claimed, item = by_hand.take()
        assert item is not None
        done.append(item.title)
        by_hand.complete(claimed)
    assert done == ["urgent", "a", "b", "later"]
    assert not queue(project_id).is_running
    assert reasons(project_id)[-1] == ("running", "stopped", "no pending items")
    assert [run.reason for run in list_runs(project_id)] == ["no pending items", None, None, None]
    assert by_hand.claim_none()


def test_the_item_is_chosen_at_the_start_not_at_the_request(
    make_project: MakeProject, by_hand: WorkerByHand, diary: Path
) -> None:
    project_id = make_project("a")
    start_run(project_id, "single")
    add_items(project_id, [make_item(diary, "urgent", priority="critical")])
    _, item = by_hand.take()
    assert item is not None
    assert item.title == "urgent"


def test_a_given_item_is_taken_before_others(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b", "c")
    wanted = list_items(project_id)[2]
    start_run(project_id, "loop", item_id=wanted.item_id)
    titles = []
    for _ in range(3):
        claimed, item = by_hand.take()
        assert item is not None
        titles.append(item.title)
        by_hand.complete(claimed)
    assert titles == ["c", "a", "b"]
    with pytest.raises(IllegalItemStatus):
        start_run(project_id, "single", item_id=wanted.item_id)
    with pytest.raises(ItemNotFound):
        start_run(project_id, "single", item_id=list_items(make_project("other"))[0].item_id)
    assert not queue(project_id).is_running


def test_a_second_start_is_refused_and_names_the_live_run(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    live = start_run(project_id, "loop")
    with pytest.raises(QueueAlreadyRunning) as refused:
        start_run(project_id, "single")
    assert refused.value.run_id == live
    claimed, _ = by_hand.take()
    with pytest.raises(QueueAlreadyRunning):
        start_run(project_id, "loop")
    by_hand.complete(claimed)
    assert queue(project_id).mode == "loop"


def test_a_retry_keeps_the_item_and_its_payload(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "single")
    claimed, first = by_hand.take()
    assert by_hand.fail(claimed, retry_seconds=0) == "scheduled"
    assert queue(project_id).is_running
    assert statuses(project_id) == ["in_progress", "pending"]
    state.retry(claimed.id)
    again, second = by_hand.take()
    assert (again.id, second) == (claimed.id, first)
    assert (again.payload["agent_name"], again.payload["title"]) == ("diary", "a")
    assert list_items(project_id)[0].runs == 1


def test_nothing_to_do_completes_the_run(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project()
    start_run(project_id, "loop")
    claimed, item = by_hand.take()
    assert item is None
    by_hand.complete(claimed)
    assert reasons(project_id)[-1] == ("running", "stopped", "no pending items")
    assert list_runs(project_id)[0].outcome == "completed"


def test_a_death_fails_the_item_and_ends_the_loop(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    assert by_hand.fail(claimed) == "dead"
    after = queue(project_id)
    assert (after.is_running, after.last_error) == (False, "Boom: no luck")
    failed, pending = list_items(project_id)
    assert (failed.status, pending.status) == ("failed", "pending")
    assert failed.error is not None
    assert failed.error["type"] == "Boom"
    assert list_runs(project_id)[0].reason == "run died"
    start_run(project_id, "loop")  # at once
    again = queue(project_id)
    assert (again.is_running, again.last_error) == (True, None)
    _, item = by_hand.take()
    assert item is not None
    assert item.title == "b"


def test_a_failed_item_can_be_put_back(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    item_id = list_items(project_id)[0].item_id
    with pytest.raises(IllegalItemStatus):
        retry_item(project_id, item_id)
    start_run(project_id, "single")
    claimed, _ = by_hand.take()
    by_hand.fail(claimed)
    assert retry_item(project_id, item_id).status == "pending"
    assert retry_item(project_id, item_id).status == "pending"  # as after a lost answer
    assert not queue(project_id).is_running
    start_run(project_id, "single")
    claimed, item = by_hand.take()
    assert item is not None
    by_hand.complete(claimed)
    assert (list_items(project_id)[0].status, list_items(project_id)[0].runs) == ("completed", 2)
    with pytest.raises(IllegalItemStatus):
        retry_item(project_id, item_id)
    with pytest.raises(ItemNotFound):
        retry_item(project_id, new_item_id())
    with pytest.raises(ProjectNotFound):
        retry_item(new_project_id(), item_id)


def test_only_the_worker_that_holds_the_lease_begins_a_run(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    start_run(project_id, "single")
    claimed = by_hand.claim()
    with pytest.raises(LeaseLost):
        by_hand.begin(claimed, worker="another")
    by_hand.release(claimed)
    with pytest.raises(LeaseLost):
        by_hand.begin(claimed)
    assert statuses(project_id) == ["pending"]


def test_the_priority_of_a_run(make_project: MakeProject, by_hand: WorkerByHand, diary: Path) -> None:
    """That which was asked for, for all runs of the loop; else that of the item which is next."""
    asked, plain = make_project("a", "b"), make_project()
    add_items(plain, [make_item(diary, "c", priority="high")])
    start_run(asked, "loop", priority="critical")
    start_run(plain, "single")
    first = by_hand.claim()
    assert (first.payload["project_id"], get_task(first.id).priority) == (asked, 0)
    assert get_task(queue(plain).current_run_id or "").priority == 1
    by_hand.begin(first)
    by_hand.complete(first)
    assert get_task(queue(asked).current_run_id or "").priority == 0
    with pytest.raises(InvalidPayload):
        start_run(plain, "single", priority="urgent")


def test_a_tenant_is_passed_on_to_the_runs(make_project: MakeProject) -> None:
    project_id = make_project("a", tenant="acme")
    run = get_task(start_run(project_id, "single"))
    assert (run.tenant, run.gates) == ("acme", ["tenant:acme"])
    assert [each.project_id for each in list_projects(tenant="acme")] == [project_id]


def test_items_are_checked_before_any_is_added(make_project: MakeProject, diary: Path) -> None:
    project_id = make_project()
    good = make_item(diary, "good")
    wrong = make_item(diary, "wrong", seconds="soon")
    with pytest.raises(InvalidPayload) as refused:
        add_items(project_id, [good, wrong])
    assert refused.value.field == "items.1.input.seconds"
    good.agent_name = "nobody"
    with pytest.raises(InvalidPayload, match="There is no agent 'nobody'"):
        add_items(project_id, [good])
    with pytest.raises(InvalidPayload):
        add_items(project_id, [])
    with pytest.raises(ProjectNotFound):
        add_items(new_project_id(), [make_item(diary, "a")])
    with pytest.raises(InvalidPayload):
        create_project("")
    assert list_items(project_id) == []


def test_a_run_exists_only_through_its_project(make_project: MakeProject) -> None:
    project_id = make_project("a")
    with pytest.raises(InvalidPayload, match=r"POST /api/v1/projects/\{id\}/run"):
        state.submit("project_run", {"project_id": project_id})


def test_items_that_are_no_text(make_project: MakeProject) -> None:
    """As a file may have them."""
    project_id = make_project()
    for field, wrong in (("title", 5), ("agent_name", ["text"]), ("task_type", None)):
        item = NewItem("a", "text", "statistics", {"text": "a"})
        setattr(item, field, wrong)
        with pytest.raises(InvalidPayload) as refused:
            add_items(project_id, [item])
        assert refused.value.field == f"items.0.{field}"
    assert statuses(project_id) == []

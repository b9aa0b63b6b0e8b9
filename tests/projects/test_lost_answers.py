"""Verbs of projects whose answer was lost with the connection: repeated, they do their work once."""

from pathlib import Path

import pytest

import state
from state import get_events
from state.projects.items import add_items, create_project, retry_item
from state.projects.queue import force_stop, start_run, stop
from state.projects.reads import list_items, list_projects, list_runs
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject, make_item
from tests.projects.looks import queue, reasons, statuses
from tests.support.lostanswers import LostAnswers


@pytest.fixture(params=[True, False], ids=["after the commit", "before it"])
def done(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> LostAnswers:
    return LostAnswers(monkeypatch)


def test_create_and_add(lost: LostAnswers, done: bool, make_project: MakeProject, diary: Path) -> None:
    lost.of_statement("project_create", done=done)
    project_id = create_project("once").project_id
    assert [each.project_id for each in list_projects()] == [project_id]
    lost.lost = 0
    lost.of_statement("project_items_add", done=done)
    assert len(add_items(project_id, [make_item(diary, "a"), make_item(diary, "b")])) == 2
    assert [item.title for item in list_items(project_id)] == ["a", "b"]
    assert len(get_events(project_id)) == 2


def test_start(lost: LostAnswers, done: bool, make_project: MakeProject) -> None:
    project_id = make_project("a")
    lost.of_statement("run_start", done=done)
    run_id = start_run(project_id, "loop")
    assert (lost.lost, queue(project_id).current_run_id) == (1, run_id)
    assert [run.run_id for run in list_runs(project_id)] == [run_id]
    assert len(reasons(project_id)) == 2


def test_a_start_whose_run_has_ended_before_it_was_tried_again(
    lost: LostAnswers, make_project: MakeProject, by_hand: WorkerByHand
) -> None:
    project_id = make_project("a")
    lost.of_statement("run_start", then=lambda: by_hand.complete(by_hand.take()[0]))
    run_id = start_run(project_id, "single")
    assert [(run.run_id, run.outcome) for run in list_runs(project_id)] == [(run_id, "completed")]
    assert not queue(project_id).is_running


def test_begin(lost: LostAnswers, done: bool, make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "single")
    claimed = by_hand.claim()
    lost.of_statement("run_begin", done=done)
    item = by_hand.begin(claimed)
    assert item is not None
    assert (lost.lost, item.title, statuses(project_id)) == (1, "a", ["in_progress", "pending"])
    assert list_items(project_id)[0].runs == 1


@pytest.mark.parametrize("begun", [True, False])
def test_stop(lost: LostAnswers, done: bool, make_project: MakeProject, by_hand: WorkerByHand, begun: bool) -> None:
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    if begun:
        claimed, _ = by_hand.take()
    lost.of_statement("queue_stop", done=done)
    after = stop(project_id).queue_state
    assert (lost.lost, after.is_running, after.should_stop) == (1, begun, begun)
    if begun:
        by_hand.complete(claimed)
    assert not queue(project_id).is_running
    assert [reason for *_, reason in reasons(project_id)] == ["created", "started", "stop requested", "stop requested"]


def test_force_stop(lost: LostAnswers, done: bool, make_project: MakeProject) -> None:
    project_id = make_project("a")
    run_id = start_run(project_id, "loop")
    lost.of_statement("queue_stop", done=done)
    answer = force_stop(project_id)
    assert (answer.success, answer.killed_runs) == (True, [run_id])


def test_retries(lost: LostAnswers, done: bool, make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    by_hand.fail(by_hand.take()[0])
    lost.of_statement("project_item_retry", done=done)
    assert retry_item(project_id, list_items(project_id)[0].item_id).status == "pending"
    lost.lost = 0
    lost.of_statement("revive", done=done)
    assert state.retry(run_id).status == "queued"
    assert (queue(project_id).current_run_id, statuses(project_id)) == (run_id, ["in_progress"])

"""A run whose task has ended without what follows from it: the queue does not stand still for ever."""

from collections.abc import Callable

import pytest

from state.projects.queue import force_stop, start_run, stop
from state.projects.reads import list_runs
from state.projects.sweep import sweep_runs
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject
from tests.projects.looks import queue, reasons, statuses
from tests.projects.test_races import LOCK, first_open
from tests.support.observer import Observer
from tests.support.turns import do_turn

BROKEN = (
    "CREATE OR REPLACE FUNCTION callboard.follow_run(t callboard.tasks, before text) RETURNS void LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'bad data' USING ERRCODE = '22000'; END $$"
)


@pytest.fixture
def stale(make_project: MakeProject, by_hand: WorkerByHand, connection: Observer) -> str:
    """A project whose run has completed, but what follows from that has failed."""
    project_id = make_project("a", "b")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    right = connection.fetch_one("SELECT pg_get_functiondef('callboard.follow_run'::regproc) AS text")["text"]
    connection.execute(BROKEN)
    assert by_hand.complete(claimed) == "completed"
    connection.execute(right)
    assert (queue(project_id).is_running, queue(project_id).run_status) == (True, "completed")
    wrong = connection.execute("SELECT invariant FROM admin.invariants").fetchall()
    assert wrong == [{"invariant": "run that has ended otherwise than its task"}]
    return project_id


def test_the_sweep_ends_it_and_the_loop_goes_on(stale: str, by_hand: WorkerByHand) -> None:
    assert do_turn() is False
    assert statuses(stale) == ["completed", "pending"]
    assert reasons(stale)[-1] == ("running", "running", "next item")
    claimed, item = by_hand.take()
    assert item is not None
    by_hand.release(claimed)
    assert sweep_runs() == []


def test_a_start_ends_it(stale: str, connection: Observer) -> None:
    connection.execute("UPDATE callboard.projects SET should_stop = true")
    run_id = start_run(stale, "single")
    assert (queue(stale).current_run_id, statuses(stale)) == (run_id, ["completed", "pending"])
    assert [run.reason for run in list_runs(stale)] == [None, "stop requested"]


@pytest.mark.parametrize("act", [stop, force_stop])
def test_a_stop_ends_it(stale: str, act: Callable[[str], object]) -> None:
    """The run that follows in the loop is canceled before it begins."""
    act(stale)
    assert (queue(stale).is_running, statuses(stale)) == (False, ["completed", "pending"])
    assert [run.outcome for run in list_runs(stale)] == ["canceled", "completed"]


def test_the_sweep_does_not_wait_for_a_locked_project(stale: str) -> None:
    with first_open(lambda conn: conn.execute(LOCK, [stale])):
        assert sweep_runs() == []
    assert len(sweep_runs()) == 1

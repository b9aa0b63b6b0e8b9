"""Large workflows: what one transaction, one read, one turn of the sweep may take is bounded."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from state import cancel, dismiss_many, redrive
from state.database import Connection, connect
from state.tasks import deadletters
from state.workers import leases
from state.workflows import StoredWorkflow, get_workflow
from state.workflows.reads import Unfinished, get_followed_workflows
from state.workflows.sweep import WorkflowSweep
from tests.support.clock import Clock
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]


@pytest.mark.parametrize(
    ("result", "step", "started", "then"),
    [
        (None, {"for_each": list(range(1000))}, 10, 11),  # 10,000 tasks live, then 9999
        ("x" * 9_000_000, {"input": {"x": {"$result": "first"}}}, 8, 12),  # 64 MB in one transaction
    ],
)
def test_one_end_starts_a_part_and_the_next_end_the_rest(
    create: Create, hand: HandWorker, statuses: Statuses, result: Any, step: dict[str, Any], started: int, then: int
) -> None:
    """Otherwise an end, or a cancel, could take longer than a statement may, each time that it is tried."""
    keys = [f"s{n}" for n in range(12)]
    its_id = create({"key": "first"}, *({"key": key, "after": ["first"], **step} for key in keys)).workflow_id
    hand.run("first", result)
    found = statuses(its_id)
    assert [found[key] for key in keys] == ["running"] * started + ["pending"] * (12 - started)
    cancel(get_workflow(its_id).get_step("s0").task_ids[0])
    found = statuses(its_id)
    assert [found[key] for key in keys[1:]] == ["running"] * (then - 1) + ["pending"] * (12 - then)


def test_results_are_shown_up_to_a_size_in_all(create: Create, hand: HandWorker) -> None:
    its_id = create(*({"key": f"s{n}"} for n in range(67))).workflow_id
    hand.take()
    ends = [hand.make_end(f"s{n}", result="x" * (300_000 if n == 3 else 254_998)) for n in range(67)]
    leases.settle(hand.connection, hand.name, ends)
    steps = get_workflow(its_id).steps
    assert [step.key for step in steps if step.result is None] == ["s3", "s66"], "65 of 255,000 bytes are 16 MB"
    assert steps[66].result_bytes == 255_000
    assert {step.status for step in steps} == {"completed"}


def test_a_stream_reads_no_results_before_the_end(create: Create, hand: HandWorker) -> None:
    ended, running = create({"key": "a"}), create({"key": "b"}, {"key": "c"})
    hand.take()
    hand.complete("a")
    hand.complete("b")
    found = get_followed_workflows([ended.workflow_id, running.workflow_id])
    assert found == {
        ended.workflow_id: get_workflow(ended.workflow_id),
        running.workflow_id: Unfinished(get_workflow(running.workflow_id).last_event),
    }
    hand.die("c")
    assert found.keys() == get_followed_workflows(found).keys()
    assert get_followed_workflows(found)[running.workflow_id].finished


def test_many_approvals_expire_turn_by_turn(create: Create, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other parts of the maintenance do not wait for all of them."""
    monkeypatch.setattr("state.workflows.sweep.BATCH", 2)
    ids = [create({"key": "ask", "kind": "approval", "expires_seconds": 60.0 + n}).workflow_id for n in range(3)]
    clock.advance(70)
    sweep = WorkflowSweep()
    assert sorted(sweep.take_turn()) == ids[:2]
    assert sweep.take_turn() == ids[2:]


@pytest.mark.parametrize(("verb", "after"), [(redrive, "running"), (dismiss_many, "canceled")])
def test_dead_letters_of_a_workflow_that_is_locked_for_a_moment_are_not_left_out(
    create: Create, hand: HandWorker, connection: Observer, monkeypatch: pytest.MonkeyPatch,
    verb: Callable[..., deadletters.Bulk], after: str,
) -> None:  # fmt: skip
    """Each end of a task locks its workflow, and with it all its dead letters."""
    workflow = create({"key": "each", "for_each": [0, 1, 2]})
    hand.take()
    for branch in range(3):
        hand.die("each", branch)
    with connect("second") as second:
        second.execute("BEGIN")
        second.execute("SELECT FROM callboard.workflows WHERE id = %s FOR UPDATE", [workflow.workflow_id])
        pauses = release_at_the_first_pause(second, monkeypatch)
        assert verb(all=True).tasks == 3
    assert len(pauses) == 1
    assert get_workflow(workflow.workflow_id).get_step("each").status == after


def release_at_the_first_pause(holder: Connection, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        holder.execute("COMMIT")

    monkeypatch.setattr(deadletters, "time", SimpleNamespace(sleep=sleep))
    return pauses

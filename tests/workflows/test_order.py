"""The orchestrator: which steps start when, and how a workflow ends."""

from collections.abc import Callable

from state import cancel, get_task, pause, resume, retry
from state.tasks.events import get_events
from state.workflows import StoredWorkflow, get_workflow, resume_workflow
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

DIAMOND = ({"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["a"]}, {"key": "d", "after": ["b", "c"]})


def test_a_step_starts_when_all_before_it_are_completed(create: Create, hand: HandWorker, statuses: Statuses) -> None:
    its_id = create(*DIAMOND).workflow_id
    assert statuses(its_id) == {"a": "running", "b": "pending", "c": "pending", "d": "pending"}
    assert hand.take() == ["a"]
    hand.complete("a", {"n": 1})
    assert statuses(its_id) == {"a": "completed", "b": "running", "c": "running", "d": "pending"}
    assert hand.take() == ["b", "c"]
    hand.complete("c")
    assert hand.take() == []
    hand.complete("b")
    assert hand.take() == ["d"]
    hand.complete("d")
    workflow = get_workflow(its_id)
    assert (workflow.status, workflow.reason, workflow.finished) == ("completed", None, True)
    assert workflow.finished_at is not None
    assert workflow.get_step("a").result == {"n": 1}


def test_the_history_has_every_move_of_every_step(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    hand.run("a")
    hand.run("b")
    events = get_events(workflow.workflow_id)
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert [(event.kind, event.data.get("step"), event.data["from"], event.data["to"]) for event in events] == [
        ("status", None, None, "running"),
        ("step", "a", "pending", "running"),
        ("step", "a", "running", "completed"),
        ("step", "b", "pending", "running"),
        ("step", "b", "running", "completed"),
        ("status", None, "running", "completed"),
    ]
    assert events[1].data["task_ids"] == [workflow.get_step("a").task_id]


def test_a_task_of_a_step_is_like_any_other(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a", "input": {"x": 1}, "max_attempts": 7, "priority": "critical"}, tenant="acme")
    task = get_task(workflow.steps[0].task_id or "")
    assert (task.actor, task.queue, task.status, task.priority, task.max_attempts) == (
        "agent",
        "agents",
        "queued",
        0,
        7,
    )
    assert (task.tenant, task.gates, task.workflow_id) == ("acme", ["tenant:acme"], workflow.workflow_id)
    assert task.payload == {"agent_name": "free", "task_type": "run", "input": {"x": 1}}
    assert [(event.n, event.data) for event in get_events(task.task_id)] == [(1, {"from": None, "to": "queued"})]


def test_a_step_without_a_priority_has_that_of_its_agent(create: Create) -> None:
    assert get_task(create({"key": "a"}).steps[0].task_id or "").priority == 1


def test_below_the_threshold_it_goes_on_with_what_does_not_depend(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    its_id = create(*DIAMOND, failure_threshold=2).workflow_id
    hand.run("a")
    hand.take()
    hand.die("b")
    assert get_workflow(its_id).status == "running"
    hand.complete("c")
    workflow = get_workflow(its_id)
    assert workflow.status == "completed"
    assert workflow.reason == "step b is dead: no luck; could not run: d"
    assert statuses(its_id) == {"a": "completed", "b": "dead", "c": "completed", "d": "pending"}


def test_at_the_threshold_it_fails_and_starts_nothing_more(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    its_id = create(*DIAMOND, {"key": "e", "after": ["c"]}).workflow_id
    hand.run("a")
    hand.take()
    hand.die("b")
    workflow = get_workflow(its_id)
    assert (workflow.status, workflow.reason) == ("failed", "step b is dead: no luck")
    assert not workflow.finished, "c still runs"
    hand.complete("c", 3)
    assert statuses(its_id) == {"a": "completed", "b": "dead", "c": "completed", "d": "pending", "e": "pending"}
    assert hand.take() == []
    assert get_workflow(its_id).finished


def test_it_is_escalated_if_it_names_somebody(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}, escalation={"to": "ops", "note": "call us"}).workflow_id
    hand.take()
    hand.die("a")
    workflow = get_workflow(its_id)
    assert workflow.status == "escalated"
    last = get_events(its_id)[-1]
    assert last.data == {
        "from": "running",
        "to": "escalated",
        "reason": "step a is dead: no luck",
        "escalation": {"to": "ops", "note": "call us"},
    }
    step = workflow.steps[0]
    assert step.error is not None
    assert (step.error["type"], step.error["task_id"]) == ("Boom", step.task_id)


def test_a_repaired_workflow_goes_on(create: Create, hand: HandWorker, statuses: Statuses) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    hand.take()
    hand.die("a")
    task_id = workflow.steps[0].task_id or ""
    retry(task_id, {"agent_name": "free", "task_type": "run", "input": {"x": 2}})
    assert statuses(workflow.workflow_id) == {"a": "running", "b": "pending"}
    assert resume_workflow(workflow.workflow_id).status == "running"
    hand.run("a")
    hand.run("b")
    assert get_workflow(workflow.workflow_id).status == "completed"
    kinds = [event.data["to"] for event in get_events(workflow.workflow_id) if event.kind == "status"]
    assert kinds == ["running", "failed", "running", "completed"]


def test_canceling_the_only_task_cancels_the_workflow(create: Create, statuses: Statuses) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    cancel(workflow.steps[0].task_id or "")
    assert get_workflow(workflow.workflow_id).status == "canceled"


def test_canceling_one_of_several_completes_it_with_a_reason(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b"}, {"key": "c", "after": ["b"]})
    cancel(workflow.get_step("b").task_id or "")
    hand.run("a")
    ended = get_workflow(workflow.workflow_id)
    assert (ended.status, ended.reason) == ("completed", "canceled: b; could not run: c")


def test_a_paused_task_keeps_the_workflow_alive(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"})
    pause(workflow.steps[0].task_id or "")
    assert get_workflow(workflow.workflow_id).status == "running"
    resume(workflow.steps[0].task_id or "")
    hand.run("a")
    assert get_workflow(workflow.workflow_id).status == "completed"


def test_advancing_again_changes_nothing(create: Create, hand: HandWorker, connection: Observer) -> None:
    workflow = create(*DIAMOND)
    hand.run("a")
    before = get_workflow(workflow.workflow_id)
    connection.execute("SELECT callboard.advance_workflow(%s)", [workflow.workflow_id])
    assert get_workflow(workflow.workflow_id) == before

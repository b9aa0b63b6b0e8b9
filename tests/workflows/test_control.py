"""Cancel, resume, approvals, added tasks, tasks that join, and the sweep."""

from collections.abc import Callable

import pytest

from state import NewTask, dismiss, get_task, retry, submit, submit_many
from state.agents.guard import run_refusing
from state.errors import (
    IllegalStep,
    IllegalWorkflow,
    InvalidPayload,
    InvalidWorkflow,
    StepNotFound,
    StepsStillFailed,
    TasksRefused,
    WorkflowNotFound,
    WorkflowNotRunning,
)
from state.maintenance.housekeeping import Housekeeping
from state.tasks.events import get_events
from state.tasks.ids import new_workflow_id
from state.workflows import (
    Step,
    StoredWorkflow,
    Workflow,
    approve,
    cancel_workflow,
    create_task,
    create_workflow,
    get_workflow,
    list_workflows,
    reject,
    resume_workflow,
)
from state.workflows.sweep import WorkflowSweep
from tests.support.clock import Clock
from tests.support.lostanswers import LostAnswers
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

ASK = ({"key": "ask", "kind": "approval"}, {"key": "go", "after": ["ask"]})


def test_cancel_cancels_what_lives(create: Create, hand: HandWorker, statuses: Statuses) -> None:
    its_id = create({"key": "a"}, {"key": "b", "after": ["a"]}, *ASK, {"key": "d"}).workflow_id
    hand.take()
    hand.complete("d")
    joined = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, delay_seconds=60.0)
    workflow = cancel_workflow(its_id)
    assert (workflow.status, workflow.finished) == ("canceled", False)
    assert statuses(its_id) == {"a": "running", "b": "canceled", "ask": "canceled", "go": "canceled", "d": "completed"}
    assert get_task(joined.task_id).status == "canceled"
    assert get_task(workflow.get_step("a").task_id or "").cancel_requested == "cancel"
    hand.die("a")
    assert statuses(its_id)["a"] == "canceled"
    assert get_workflow(its_id).finished
    assert hand.take() == []


def test_cancel_of_a_thousand_branches(create: Create, statuses: Statuses, connection: Observer) -> None:
    its_id = create({"key": "each", "for_each": list(range(1000))}).workflow_id
    assert cancel_workflow(its_id).status == "canceled"
    assert statuses(its_id) == {"each": "canceled"}
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'canceled'")["n"] == 1000


def test_cancel_of_what_is_over(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    hand.run("a")
    with pytest.raises(IllegalWorkflow):
        cancel_workflow(its_id)
    with pytest.raises(WorkflowNotFound):
        cancel_workflow(new_workflow_id())


def test_a_failed_workflow_can_be_canceled(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}, *ASK).workflow_id
    hand.take()
    hand.die("a")
    assert cancel_workflow(its_id).status == "canceled"


def test_resume_names_what_is_still_failed(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b"}, {"key": "c", "after": ["a", "b"]}, failure_threshold=2)
    its_id = workflow.workflow_id
    with pytest.raises(IllegalWorkflow):
        resume_workflow(its_id)
    hand.take()
    hand.die("a")
    hand.die("b")
    with pytest.raises(StepsStillFailed) as refused:
        resume_workflow(its_id)
    assert refused.value.steps == ["a", "b"]
    assert "a, b" in str(refused.value)
    retry(workflow.get_step("a").task_id or "")
    assert resume_workflow(its_id).status == "running"
    hand.run("a")
    ended = get_workflow(its_id)
    assert (ended.status, ended.reason) == ("completed", "step b is dead: no luck; could not run: c")
    with pytest.raises(IllegalWorkflow):
        resume_workflow(its_id)
    with pytest.raises(WorkflowNotFound):
        resume_workflow(new_workflow_id())


def test_a_dismissed_step_counts_no_more(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b"})
    hand.take()
    hand.die("a")
    dismiss(workflow.get_step("a").task_id or "")
    resume_workflow(workflow.workflow_id)
    hand.complete("b")
    assert get_workflow(workflow.workflow_id).reason == "canceled: a"


def test_an_approval_holds_no_worker_and_is_in_the_history(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    its_id = create(*ASK).workflow_id
    assert statuses(its_id) == {"ask": "waiting", "go": "pending"}
    assert hand.take() == []
    approve(its_id, "ask", by="anna", note="go ahead")
    step = get_workflow(its_id).get_step("ask")
    assert (step.status, step.decision, step.decided_by, step.note) == ("completed", "approved", "anna", "go ahead")
    assert step.decided_at is not None
    [event] = [event for event in get_events(its_id) if event.data.get("decision")]
    assert event.data == {
        "step": "ask", "from": "waiting", "to": "completed", "decision": "approved", "by": "anna", "note": "go ahead",
    }  # fmt: skip
    hand.run("go")
    assert get_workflow(its_id).status == "completed"


def test_a_decision_can_be_repeated_but_not_changed(create: Create, hand: HandWorker) -> None:
    its_id = create(*ASK).workflow_id
    approve(its_id, "ask", by="anna")
    approve(its_id, "ask", by="bob")
    assert get_workflow(its_id).get_step("ask").decided_by == "anna"
    with pytest.raises(IllegalStep) as refused:
        reject(its_id, "ask", by="bob")
    assert (refused.value.step, refused.value.status) == ("ask", "completed")
    hand.run("go")
    approve(its_id, "ask", by="anna")


def test_a_rejected_approval_is_a_failure(create: Create, statuses: Statuses) -> None:
    its_id = create(*ASK).workflow_id
    workflow = reject(its_id, "ask", by="bob", note="no")
    assert (workflow.status, workflow.reason) == ("failed", "step ask was rejected by bob")
    assert statuses(its_id) == {"ask": "rejected", "go": "pending"}
    with pytest.raises(StepsStillFailed):
        resume_workflow(its_id)


def test_decisions_that_are_not_possible(create: Create, hand: HandWorker) -> None:
    its_id = create(*ASK, {"key": "later", "kind": "approval", "after": ["go"]}).workflow_id
    with pytest.raises(IllegalStep):
        approve(its_id, "later", by="anna")
    with pytest.raises(IllegalStep):
        approve(its_id, "go", by="anna")
    with pytest.raises(StepNotFound):
        approve(its_id, "nothing", by="anna")
    with pytest.raises(WorkflowNotFound):
        approve(new_workflow_id(), "ask", by="anna")
    for by in ("", "  ", "x" * 201):
        with pytest.raises(InvalidPayload):
            approve(its_id, "ask", by=by)


def test_an_approval_expires(create: Create, clock: Clock, statuses: Statuses) -> None:
    soon = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0}).workflow_id
    never = create({"key": "ask", "kind": "approval"}).workflow_id
    assert WorkflowSweep().take_turn() == []
    clock.advance(61)
    Housekeeping().do_turn()
    workflow = get_workflow(soon)
    assert (workflow.status, workflow.reason) == ("failed", "step ask has expired")
    assert statuses(soon) == {"ask": "expired"}
    assert statuses(never) == {"ask": "waiting"}
    with pytest.raises(IllegalStep):
        approve(soon, "ask", by="anna")


def test_a_decision_that_comes_too_late_is_refused_before_the_sweep(create: Create, clock: Clock) -> None:
    its_id = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0}).workflow_id
    clock.advance(61)
    with pytest.raises(IllegalStep) as refused:
        approve(its_id, "ask", by="anna")
    assert refused.value.status == "expired"
    assert get_workflow(its_id).status == "failed"


def test_an_approval_gets_its_whole_time_again_when_the_workflow_is_resumed(
    create: Create, hand: HandWorker, clock: Clock
) -> None:
    workflow = create({"key": "a"}, {"key": "ask", "kind": "approval", "expires_seconds": 60.0})
    its_id = workflow.workflow_id
    hand.take()
    hand.die("a")
    clock.advance(3600)
    Housekeeping().do_turn()
    assert get_workflow(its_id).get_step("ask").status == "waiting", "nobody could go on with it"
    retry(workflow.get_step("a").task_id or "")
    resume_workflow(its_id)
    Housekeeping().do_turn()
    assert get_workflow(its_id).get_step("ask").status == "waiting"
    approve(its_id, "ask", by="anna")


def test_create_task_adds_a_step_and_starts_it(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    step = create_task(its_id, "free", "run", {"x": 1}, 0, 5)
    task = get_task(step.task_id or "")
    assert (task.status, task.priority, task.max_attempts, task.payload["input"]) == ("queued", 0, 5, {"x": 1})
    hand.run("a")
    assert get_workflow(its_id).status == "running"
    hand.complete(step.key)
    assert get_workflow(its_id).status == "completed"
    with pytest.raises(WorkflowNotRunning):
        create_task(its_id, "free", "run", {})
    with pytest.raises(WorkflowNotFound):
        create_task(new_workflow_id(), "free", "run", {})


def test_create_task_checks_its_input(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "nobody", "run", {})
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "strict", "run", {"text": 1})
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "free", "run", {"x": {"$result": "a"}})
    assert len(get_workflow(its_id).steps) == 1


def test_an_agent_creates_neither_workflows_nor_tasks(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    definition = Workflow(name="x", steps=[Step(key="a", agent_name="free", task_type="run")])
    with pytest.raises(TasksRefused):
        run_refusing(create_workflow, definition)
    with pytest.raises(TasksRefused):
        run_refusing(create_task, its_id, "free", "run", {})


def test_a_task_joins_a_running_workflow(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    payload = {"agent_name": "free", "task_type": "run", "input": {}}
    task = submit("agent", payload, workflow_id=its_id)
    assert task.workflow_id == its_id
    [other] = submit_many([NewTask("agent", payload, workflow_id=its_id)])
    assert get_task(other).workflow_id == its_id
    hand.run("a")
    assert get_workflow(its_id).status == "running", "it waits for what has joined"
    hand.complete(None, branch=other)
    assert get_workflow(its_id).status == "running"
    hand.complete(None, branch=task.task_id)
    assert get_workflow(its_id).status == "completed"
    with pytest.raises(WorkflowNotRunning):
        submit("agent", payload, workflow_id=its_id)
    with pytest.raises(WorkflowNotFound):
        submit("agent", payload, workflow_id=new_workflow_id())


def test_a_dead_task_without_a_step_is_a_failure(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    task = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id)
    hand.take()
    hand.die(None, branch=task.task_id)
    workflow = get_workflow(its_id)
    assert (workflow.status, workflow.reason) == ("failed", f"task {task.task_id} is dead: no luck")
    with pytest.raises(StepsStillFailed):
        resume_workflow(its_id)
    retry(task.task_id)
    resume_workflow(its_id)


def test_a_task_of_another_tenant_does_not_join(create: Create) -> None:
    its_id = create({"key": "a"}, tenant="acme").workflow_id
    with pytest.raises(InvalidPayload) as refused:
        submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, tenant="other")
    assert refused.value.field == "tenant"
    submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, tenant="acme")


def test_a_dedup_key_counts_for_tasks_that_join(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    first, second = (
        submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, dedup_key="once")
        for _ in range(2)
    )
    assert (second.task_id, first.deduplicated, second.deduplicated) == (first.task_id, False, True)


def test_the_list_has_filters_and_pages(create: Create, hand: HandWorker) -> None:
    ids = [create({"key": "a"}, {"key": "b", "after": ["a"]}, tenant=tenant).workflow_id for tenant in ("x", "y", "x")]
    assert [each.workflow_id for each in list_workflows()] == ids[::-1]
    assert [each.workflow_id for each in list_workflows(tenant="x")] == [ids[2], ids[0]]
    assert [each.workflow_id for each in list_workflows(limit=1, before=ids[2])] == [ids[1]]
    cancel_workflow(ids[1])
    assert [each.workflow_id for each in list_workflows(status="canceled")] == [ids[1]]
    assert list_workflows()[0].step_counts == {"running": 1, "pending": 1}


def test_the_sweep_finds_nothing_in_practice(create: Create, hand: HandWorker) -> None:
    for _ in range(3):
        create({"key": "a"}, *ASK)
    hand.run("a")
    assert WorkflowSweep().take_turn() == []


def test_the_sweep_heals_what_an_operator_left(
    create: Create, hand: HandWorker, connection: Observer, statuses: Statuses
) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # no triggers
        connection.execute(
            "UPDATE callboard.tasks SET status = 'completed', result = '{\"x\": 1}' WHERE id = %s",
            [workflow.get_step("a").task_id],
        )
    found = {row["invariant"] for row in connection.execute("SELECT invariant FROM admin.invariants").fetchall()}
    assert found == {"step running without a live task", "workflow running with nothing alive"}
    assert WorkflowSweep().take_turn() == [workflow.workflow_id]
    assert statuses(workflow.workflow_id) == {"a": "completed", "b": "running"}


def test_the_sweep_goes_on_where_it_stopped(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [create({"key": "a"}).workflow_id for _ in range(3)]
    monkeypatch.setattr("state.workflows.sweep.BATCH", 2)
    sweep = WorkflowSweep()
    positions = []
    for _ in range(3):
        assert sweep.take_turn() == []
        positions.append(sweep.position)
    assert positions == [ids[1], "", ids[1]]


def test_one_workflow_that_cannot_go_on_does_not_hold_up_the_others(
    create: Create, hand: HandWorker, connection: Observer, clock: Clock
) -> None:
    """The end of its task is kept, the maintainer goes on, and when the cause is gone, so does the workflow."""
    bad = create({"key": "a"}, {"key": "b", "after": ["a"]})
    good = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0})
    start_step = connection.fetch_one("SELECT pg_get_functiondef('callboard.start_step'::regproc) AS text")["text"]
    connection.execute(
        "CREATE OR REPLACE FUNCTION callboard.start_step(its_workflow text, its_key text) RETURNS void "
        "LANGUAGE plpgsql AS $$ BEGIN RAISE 'a bug' USING ERRCODE = '22000'; END $$"
    )
    hand.run("a")
    assert get_task(bad.get_step("a").task_id or "").status == "completed"
    clock.advance(61)
    housekeeping = Housekeeping()
    housekeeping.do_turn()
    assert get_workflow(good.workflow_id).status == "failed"
    connection.execute(start_step)
    housekeeping.do_turn()
    assert get_workflow(bad.workflow_id).get_step("b").status == "running"


VERBS: dict[str, tuple[str, Callable[[StoredWorkflow], object]]] = {
    "create": ("workflow_create", lambda _: None),
    "create_task": ("workflow_add_step", lambda w: create_task(w.workflow_id, "free", "run", {})),
    "cancel": ("workflow_cancel", lambda w: cancel_workflow(w.workflow_id)),
    "resume": ("workflow_resume", lambda w: resume_workflow(w.workflow_id)),
    "approve": ("workflow_decide", lambda w: approve(w.workflow_id, "ask", by="anna")),
}


@pytest.mark.parametrize("done", [True, False], ids=["after the commit", "before it"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_answer_was_lost_has_happened_once(
    create: Create, hand: HandWorker, monkeypatch: pytest.MonkeyPatch, verb: str, done: bool
) -> None:
    statement, act = VERBS[verb]
    lost = LostAnswers(monkeypatch)
    if verb == "create":
        lost.of_statement(statement, done=done)
    workflow = create({"key": "a"}, {"key": "ask", "kind": "approval"})
    if verb == "resume":
        hand.take()
        hand.die("a")
        retry(workflow.get_step("a").task_id or "")
    before = get_events(workflow.workflow_id)
    if verb != "create":
        lost.of_statement(statement, done=done)
    act(workflow)
    assert lost.lost == 1
    written = [(event.kind, event.data["to"]) for event in get_events(workflow.workflow_id)[len(before) :]]
    assert (
        written
        == {
            "create": [],
            "create_task": [("step", "pending"), ("step", "running")],
            "cancel": [("status", "canceled"), ("step", "canceled"), ("step", "canceled")],
            "resume": [("status", "running")],
            "approve": [("step", "completed")],
        }[verb]
    )
    assert len(list_workflows()) == 1


def test_a_join_whose_answer_was_lost_has_happened_once(
    create: Create, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    its_id = create({"key": "a"}).workflow_id
    LostAnswers(monkeypatch).of_commit()
    task = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id)
    assert task.workflow_id == its_id
    assert not task.deduplicated
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE step IS NULL")["n"] == 1

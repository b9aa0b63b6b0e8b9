"""Actors and agents that need the role operator, and priority 0: asked at submit, and wherever work runs again."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import state
from state.access.caller import SYSTEM, Caller
from state.errors import Forbidden
from state.projects.items import NewItem, add_items, create_project, retry_item
from state.projects.queue import start_many, start_run
from state.projects.reads import list_items
from state.projects.runs import begin_run
from state.schedules.changes import create_schedule, pause_schedule, resume_schedule
from state.tasks.batches import submit_each
from state.workflows import Workflow, cancel_workflow, create_task, create_workflow, resume_workflow
from state.workflows.approvals import approve, reject
from tests.scope.world import CRASH, Builder

SUBMITTER = Caller("submitter", name="sam")
OPERATOR = Caller("operator", name="olga")
WITHOUT_KEYS = Caller("operator", commands=False)

COMMAND = {"agent_name": "command", "task_type": "run", "input": {}}
FREE = {"agent_name": "free", "task_type": "run", "input": {}}


def make_workflow(**step: Any) -> Workflow:
    named = {"key": "work", "agent_name": "command", "task_type": "run"}
    return Workflow.model_validate({"name": "w", "steps": [{**named, **step}]})


GIVE: dict[str, Callable[[Caller], Any]] = {
    "an actor": lambda c: state.submit("dangerous", {}, caller=c),
    "an agent": lambda c: state.submit("agent", COMMAND, caller=c),
    "many": lambda c: state.submit_many([state.NewTask("agent", COMMAND)], caller=c),
    "a step": lambda c: create_workflow(make_workflow(), caller=c),
    "an added task": lambda c: create_task(
        create_workflow(make_workflow(agent_name="free")).workflow_id, "command", "run", {}, caller=c
    ),
    "a project": lambda c: create_project("p", items=[NewItem("x", "command", "run")], caller=c),
    "an item": lambda c: add_items(create_project("p").project_id, [NewItem("x", "command", "run")], caller=c),
    "a run": lambda c: start_run(make_project(), "single", caller=c),
}
PRIORITIZE: dict[str, Callable[[Caller], Any]] = {
    "a task": lambda c: state.submit("quick", {}, priority="critical", caller=c),
    "a step": lambda c: create_workflow(make_workflow(agent_name="free", priority=0), caller=c),
    "an item": lambda c: create_project("p", items=[NewItem("x", "free", "run", priority=0)], caller=c),
    "a run": lambda c: start_run(create_project("p").project_id, "single", priority=0, caller=c),
    "many runs": lambda c: start_many([create_project("p").project_id], "single", priority=0, caller=c),
}


def make_project() -> str:
    return create_project("p", items=[NewItem("x", "command", "run"), NewItem("y", "free", "run")]).project_id


@pytest.fixture
def kill(builder: Builder) -> Callable[..., str]:
    return lambda actor, payload: builder.kill(state.submit(actor, payload).task_id)


def test_work_for_operators() -> None:
    for name, give in GIVE.items():
        with pytest.raises(Forbidden, match="needs a key with the role operator; yours has the role submitter"):
            pytest.fail(f"{name}: {give(SUBMITTER)}")
        with pytest.raises(Forbidden, match="CALLBOARD_COMMANDS=1, or create a key"):
            pytest.fail(f"{name}: {give(WITHOUT_KEYS)}")
        give(OPERATOR)


def test_priority_0_is_for_operators() -> None:
    for name, ask in PRIORITIZE.items():
        with pytest.raises(Forbidden, match="Priority 0"):
            pytest.fail(f"{name}: {ask(SUBMITTER)}")
        ask(WITHOUT_KEYS)


def test_the_priority_that_an_agent_declares_is_for_all() -> None:
    task = state.submit("agent", {**FREE, "agent_name": "urgent"}, caller=SUBMITTER)
    assert task.status == "queued"
    workflow = create_workflow(make_workflow(agent_name="urgent"), caller=SUBMITTER)
    assert workflow.steps[0].priority == 0


def test_a_reader_gives_no_work() -> None:
    with pytest.raises(Forbidden):
        state.submit("quick", {}, caller=Caller("reader"))


def test_a_batch_refuses_only_what_is_forbidden() -> None:
    outcomes = submit_each([state.NewTask("quick", {}), state.NewTask("dangerous", {})], caller=SUBMITTER)
    assert [isinstance(each, Forbidden) for each in outcomes] == [False, True]


@pytest.mark.parametrize("verb", [state.resume, state.retry], ids=["resume", "retry"])
def test_a_dead_letter_of_an_operator_stays_dead(kill: Callable[..., str], verb: Any) -> None:
    for caller, actor, payload in product((SUBMITTER, WITHOUT_KEYS), ("dangerous", "agent"), (COMMAND,)):
        task_id = kill(actor, payload)
        with pytest.raises(Forbidden):
            verb(task_id, caller=caller)
        assert verb(task_id, caller=OPERATOR).status == "queued"
    assert verb(kill("agent", FREE), caller=SUBMITTER).status == "queued"


def test_an_edited_payload_makes_no_command(kill: Callable[..., str]) -> None:
    task_id = kill("agent", FREE)
    with pytest.raises(Forbidden):
        state.retry(task_id, COMMAND, caller=SUBMITTER)
    assert state.get_task(task_id).payload["agent_name"] == "free"


def test_a_paused_command_is_resumed_by_operators(works: None) -> None:
    task_id = state.submit("agent", COMMAND).task_id
    assert state.pause(task_id, caller=SUBMITTER).status == "paused"  # stopping is for all
    with pytest.raises(Forbidden):
        state.resume(task_id, caller=SUBMITTER)
    assert state.resume(task_id, caller=OPERATOR).status == "queued"


def test_a_task_of_an_unknown_agent_runs_again_for_operators_only(kill: Callable[..., str]) -> None:
    task_id = kill("agent", {**FREE, "agent_name": "gone"})
    with pytest.raises(Forbidden, match="Only an operator"):
        state.resume(task_id, caller=SUBMITTER)
    assert state.resume(task_id, caller=OPERATOR).status == "queued"


def test_a_redrive_leaves_out_what_the_caller_may_not_run(kill: Callable[..., str]) -> None:
    dead = [kill("dangerous", {}), kill("agent", COMMAND), kill("agent", FREE), kill("quick", {})]
    assert state.redrive(all=True, dry_run=True, caller=WITHOUT_KEYS).tasks == 2
    assert state.redrive(all=True, caller=WITHOUT_KEYS).tasks == 2
    assert [state.get_task(each).status for each in dead] == ["dead", "dead", "queued", "queued"]
    assert state.redrive(all=True, caller=OPERATOR).tasks == 2


def test_a_workflow_with_a_command_is_resumed_by_operators(builder: Builder) -> None:
    step = {"key": "work", "agent_name": "free", "task_type": "run"}
    later = {"key": "later", "agent_name": "command", "task_type": "run", "after": ["work"]}
    workflow = create_workflow(Workflow.model_validate({"name": "w", "steps": [step, later]}))
    dead = builder.kill(str(workflow.steps[0].task_id))
    state.resume(dead, caller=SUBMITTER)
    with pytest.raises(Forbidden):
        resume_workflow(workflow.workflow_id, caller=SUBMITTER)
    assert resume_workflow(workflow.workflow_id, caller=OPERATOR).status == "running"
    assert cancel_workflow(workflow.workflow_id, caller=SUBMITTER).status == "canceled"


def test_items_of_operators_run_for_operators(builder: Builder) -> None:
    project_id = make_project()
    free = next(item.item_id for item in list_items(project_id) if item.agent_name == "free")
    with pytest.raises(Forbidden):
        start_run(project_id, "loop", caller=SUBMITTER)
    assert start_run(project_id, "single", item_id=free, caller=SUBMITTER)
    other = create_project("p", items=[NewItem("x", "command", "run")]).project_id
    claimed = builder.claim(start_run(other, "single", caller=OPERATOR))
    begin_run("w1", claimed.id, claimed.epoch)
    builder.end(claimed, "failed", error=CRASH)
    [item] = list_items(other)
    with pytest.raises(Forbidden):
        retry_item(other, item.item_id, caller=SUBMITTER)
    with pytest.raises(Forbidden):  # the payload of its run names the agent
        state.resume(claimed.id, caller=SUBMITTER)
    assert retry_item(other, item.item_id, caller=SYSTEM).status == "pending"


@pytest.mark.parametrize("verb", [state.resume, state.retry], ids=["resume", "retry"])
def test_a_run_that_has_no_item_yet_runs_again_for_those_who_could_start_it(builder: Builder, verb: Any) -> None:
    project_id = make_project()
    dead = builder.kill(start_run(project_id, "single"))
    for caller in (SUBMITTER, WITHOUT_KEYS):
        with pytest.raises(Forbidden):
            verb(dead, caller=caller)
    assert state.redrive(all=True, caller=WITHOUT_KEYS).tasks == 0
    assert verb(dead, caller=OPERATOR).status == "queued"
    state.pause(dead, caller=SUBMITTER)
    with pytest.raises(Forbidden):
        state.resume(dead, caller=SUBMITTER)
    state.cancel(dead)
    free = next(item.item_id for item in list_items(project_id) if item.agent_name == "free")
    named = builder.kill(start_run(project_id, "single", item_id=free, caller=SUBMITTER))
    assert state.redrive(all=True, dry_run=True, caller=WITHOUT_KEYS).tasks == 1
    assert verb(named, caller=SUBMITTER).status == "queued"


def test_a_loop_goes_on_for_those_who_could_start_it(builder: Builder) -> None:
    """Its run has a harmless item; after that come the others."""
    project_id = create_project("p", items=[NewItem("x", "free", "run"), NewItem("y", "command", "run")]).project_id
    claimed = builder.claim(start_run(project_id, "loop"))
    begin_run("w1", claimed.id, claimed.epoch)
    builder.end(claimed, "failed", error=CRASH)
    assert state.get_task(claimed.id).status == "dead"
    with pytest.raises(Forbidden):
        state.retry(claimed.id, caller=SUBMITTER)
    assert state.redrive(all=True, caller=WITHOUT_KEYS).tasks == 0
    assert state.retry(claimed.id, caller=OPERATOR).status == "queued"


def test_an_approval_starts_no_command_for_those_who_may_not_give_it() -> None:
    steps = [
        {"key": "ask", "kind": "approval"},
        {"key": "work", "agent_name": "command", "task_type": "run", "after": ["ask"]},
    ]
    ids = [create_workflow(Workflow.model_validate({"name": "w", "steps": steps})).workflow_id for _ in range(2)]
    with pytest.raises(Forbidden):
        approve(ids[0], "ask", by="eve", caller=WITHOUT_KEYS)
    assert approve(ids[0], "ask", by="olga", caller=OPERATOR).get_step("work").status == "running"
    assert reject(ids[1], "ask", by="eve", caller=WITHOUT_KEYS).get_step("ask").status == "rejected"


def test_a_paused_schedule_is_resumed_by_those_who_may_give_its_work() -> None:
    schedule_id = create_schedule("nightly", "0 3 * * *", "agent", COMMAND).schedule_id
    assert pause_schedule(schedule_id, caller=WITHOUT_KEYS).paused  # stopping is for all
    with pytest.raises(Forbidden):
        resume_schedule(schedule_id, caller=WITHOUT_KEYS)
    assert not resume_schedule(schedule_id, caller=OPERATOR).paused

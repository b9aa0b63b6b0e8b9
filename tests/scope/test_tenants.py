"""What belongs to another tenant does not exist: every verb of state, every list, every verb for many."""

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest

import state
from state.access.caller import SYSTEM, Caller
from state.agents.events import find, get_event, list_events, make_query, search
from state.errors import (
    AgentEventNotFound,
    ContentNotFound,
    Forbidden,
    GenerationNotFound,
    ProjectNotFound,
    PromptNotFound,
    StateError,
    TaskNotFound,
    WorkflowNotFound,
)
from state.gates.operations import put_gate, reset_gate
from state.gates.reads import get_gate, list_changes, list_gates, list_holders, list_samples, list_waiters
from state.media.contents import get_content
from state.media.generations import get_generation
from state.media.prompts import get_prompt, put_prompt
from state.metrics.reads import list_metrics
from state.metrics.snapshot import take_snapshot
from state.projects import items as project_items
from state.projects import queue as project_queue
from state.projects import reads as projects
from state.tasks.batches import submit_each
from state.tasks.bulk import act_on_all, act_on_tasks
from state.tasks.events import get_newest_events
from state.tasks.export import read_page
from state.tasks.idempotency import run_once
from state.tasks.queues import get_queue_status, pause_queue, resume_queue
from state.tasks.reads import get_tasks_of_many
from state.tasks.search import get_listed_tasks, search_tasks
from state.tasks.sharing import Asked, get_together, submit_together
from state.tasks.submission import submit_new
from state.tasks.targets import clear_job, list_target_tasks, list_targets, resume_job
from state.workers.registry import list_workers
from state.workflows import (
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
from state.workflows.steps import get_step, list_step_tasks
from tests.scope.conftest import Worlds
from tests.scope.world import World
from tests.support.observer import Observer

Act = Callable[[World, Caller], Any]

NEW = project_items.NewItem("x", "free", "run")

# By the function of state. Each is tried on what the other tenant has.
REFUSED: dict[Callable[..., Any], tuple[type[StateError], Act]] = {
    state.get_task: (TaskNotFound, lambda w, c: state.get_task(w.queued, caller=c)),
    get_together: (TaskNotFound, lambda w, c: raise_own(get_together, w.queued, c, SYSTEM)),
    state.get_attempts: (TaskNotFound, lambda w, c: state.get_attempts(w.completed, caller=c)),
    state.cancel: (TaskNotFound, lambda w, c: state.cancel(w.running, force=True, caller=c)),
    state.pause: (TaskNotFound, lambda w, c: state.pause(w.running, caller=c)),
    state.resume: (TaskNotFound, lambda w, c: state.resume(w.paused, caller=c)),
    state.retry: (TaskNotFound, lambda w, c: state.retry(w.dead, {"x": 1}, caller=c)),
    state.dismiss: (TaskNotFound, lambda w, c: state.dismiss(w.dead, caller=c)),
    state.delete: (TaskNotFound, lambda w, c: state.delete(w.completed, caller=c)),
    resume_job: (TaskNotFound, lambda w, c: resume_job("disk", w.targeted, tenant=w.tenant, caller=c)),
    clear_job: (TaskNotFound, lambda w, c: clear_job("disk", w.targeted, tenant=w.tenant, caller=c)),
    submit_new: (WorkflowNotFound, lambda w, c: state.submit("quick", {}, workflow_id=w.workflow, caller=c)),
    get_workflow: (WorkflowNotFound, lambda w, c: get_workflow(w.workflow, caller=c)),
    get_step: (WorkflowNotFound, lambda w, c: get_step(w.workflow, "look", caller=c)),
    list_step_tasks: (WorkflowNotFound, lambda w, c: list_step_tasks(w.workflow, "look", caller=c)),
    cancel_workflow: (WorkflowNotFound, lambda w, c: cancel_workflow(w.workflow, caller=c)),
    resume_workflow: (WorkflowNotFound, lambda w, c: resume_workflow(w.failed_workflow, caller=c)),
    approve: (WorkflowNotFound, lambda w, c: approve(w.workflow, "look", by="me", caller=c)),
    reject: (WorkflowNotFound, lambda w, c: reject(w.workflow, "look", by="me", caller=c)),
    create_task: (WorkflowNotFound, lambda w, c: create_task(w.workflow, "free", "run", {}, caller=c)),
    projects.get_project: (ProjectNotFound, lambda w, c: projects.get_project(w.project, caller=c)),
    projects.list_items: (ProjectNotFound, lambda w, c: projects.list_items(w.project, caller=c)),
    projects.list_runs: (ProjectNotFound, lambda w, c: projects.list_runs(w.project, caller=c)),
    projects.get_statistics: (ProjectNotFound, lambda w, c: projects.get_statistics(w.project, caller=c)),
    project_items.add_items: (ProjectNotFound, lambda w, c: project_items.add_items(w.project, [NEW], caller=c)),
    project_items.retry_item: (
        ProjectNotFound,
        lambda w, c: project_items.retry_item(w.project, w.failed_item, caller=c),
    ),
    project_queue.start_run: (ProjectNotFound, lambda w, c: project_queue.start_run(w.project, "loop", caller=c)),
    project_queue.stop: (ProjectNotFound, lambda w, c: project_queue.stop(w.project, caller=c)),
    project_queue.begin_force_stop: (
        ProjectNotFound,
        lambda w, c: project_queue.begin_force_stop(w.project, caller=c),
    ),
    project_queue.look_after_force_stop: (
        TaskNotFound,
        lambda w, c: project_queue.look_after_force_stop(w.project, w.run, caller=c),
    ),
    project_queue.start_many: (
        ProjectNotFound,
        lambda w, c: raise_first(project_queue.start_many, w, "loop", caller=c),
    ),
    project_queue.stop_many: (ProjectNotFound, lambda w, c: raise_first(project_queue.stop_many, w, caller=c)),
    get_generation: (GenerationNotFound, lambda w, c: get_generation(w.generation, caller=c)),
    get_content: (ContentNotFound, lambda w, c: get_content(w.content, caller=c)),
    get_prompt: (PromptNotFound, lambda w, c: get_prompt("greeting", w.tenant, caller=c)),
    get_event: (AgentEventNotFound, lambda w, c: get_event(w.agent_event, caller=c)),
    # What is created for another tenant.
    state.submit: (Forbidden, lambda w, c: state.submit("quick", {}, tenant=w.tenant, caller=c)),
    submit_each: (Forbidden, lambda w, c: raise_refusal(state.NewTask("quick", {}, tenant=w.tenant), c)),
    submit_together: (
        Forbidden,
        lambda w, c: raise_own(submit_together, state.NewTask("quick", {}, tenant=w.tenant), c),
    ),
    run_once: (Forbidden, lambda w, c: run_once("key", "tasks", w.tenant, b"", lambda _: {}, caller=c)),
    create_workflow: (Forbidden, lambda w, c: create_workflow(define(w.tenant), caller=c)),
    project_items.create_project: (
        Forbidden,
        lambda w, c: project_items.create_project("x", tenant=w.tenant, caller=c),
    ),
    put_prompt: (Forbidden, lambda w, c: put_prompt("greeting", "mine now", w.tenant, caller=c)),
    # What concerns the system as a whole.
    list_gates: (Forbidden, lambda _, c: list_gates(caller=c)),
    get_gate: (Forbidden, lambda w, c: get_gate(f"tenant:{w.tenant}", caller=c)),
    put_gate: (Forbidden, lambda w, c: put_gate(f"tenant:{w.tenant}", paused=True, caller=c)),
    reset_gate: (Forbidden, lambda w, c: reset_gate(f"tenant:{w.tenant}", caller=c)),
    list_samples: (Forbidden, lambda w, c: list_samples(f"tenant:{w.tenant}", caller=c)),
    list_holders: (Forbidden, lambda w, c: list_holders(f"tenant:{w.tenant}", caller=c)),
    list_waiters: (Forbidden, lambda w, c: list_waiters(f"tenant:{w.tenant}", caller=c)),
    list_changes: (Forbidden, lambda _, c: list_changes(caller=c)),
    pause_queue: (Forbidden, lambda _, c: pause_queue("one", caller=c)),
    resume_queue: (Forbidden, lambda _, c: resume_queue("one", caller=c)),
    get_queue_status: (Forbidden, lambda _, c: get_queue_status(caller=c)),
    list_workers: (Forbidden, lambda _, c: list_workers(caller=c)),
    list_metrics: (Forbidden, lambda _, c: list_metrics(caller=c)),
    take_snapshot: (Forbidden, lambda _, c: take_snapshot(caller=c)),
    state.requeue_orphaned: (Forbidden, lambda _, c: state.requeue_orphaned(caller=c)),
}

# Lists that are asked for what the other tenant has.
EMPTY: dict[Callable[..., Any], Act] = {
    state.list_tasks: lambda w, c: state.list_tasks(tenant=w.tenant, caller=c),
    state.get_events: lambda w, c: [
        event for its_id in (w.queued, w.workflow, w.project) for event in state.get_events(its_id, caller=c)
    ],
    get_newest_events: lambda w, c: [
        event for its_id in (w.queued, w.workflow, w.project) for event in get_newest_events(its_id, caller=c)
    ],
    get_tasks_of_many: lambda w, c: get_tasks_of_many(w.own, caller=c),
    get_listed_tasks: lambda w, c: get_listed_tasks(w.own, caller=c),
    read_page: lambda w, c: read_page("", None, tenant=w.tenant, caller=c)[0],
    search_tasks: lambda w, c: [
        each for text in ("quick", *w.own) for each in search_tasks(text, tenant=w.tenant, caller=c).ids
    ],
    state.list_dead_letters: lambda w, c: state.list_dead_letters(tenant=w.tenant, caller=c),
    state.list_error_groups: lambda w, c: state.list_error_groups(tenant=w.tenant, caller=c),
    state.redrive: lambda w, c: state.redrive(all=True, tenant=w.tenant, caller=c).groups,
    state.dismiss_many: lambda w, c: state.dismiss_many(all=True, tenant=w.tenant, caller=c).groups,
    act_on_tasks: lambda w, c: act_on_tasks(list(w.own), "cancel", caller=c).groups,
    act_on_all: lambda w, c: [
        group
        for action in ("cancel", "resume", "dismiss")
        for group in act_on_all(action, tenant=w.tenant, all=True, caller=c).groups
    ],
    list_target_tasks: lambda w, c: list_target_tasks("disk", tenant=w.tenant, caller=c),
    list_targets: lambda w, c: list_targets(tenant=w.tenant, caller=c),
    list_workflows: lambda w, c: list_workflows(tenant=w.tenant, caller=c),
    projects.list_projects: lambda w, c: projects.list_projects(tenant=w.tenant, caller=c),
    search: lambda w, c: search("whale", tenant=w.tenant, caller=c).items,
    list_events: lambda w, c: [
        each for text in (None, "whale") for each in list_events(tenant=w.tenant, text=text, caller=c)
    ],
    find: lambda w, c: find(make_query("whale", "no"), tenant=w.tenant, caller=c).items,
}

# The same lists without a filter: only what is ours.
OWN: dict[Callable[..., Any], Callable[[Caller], list[str | None]]] = {
    state.list_tasks: lambda c: [task.tenant for task in state.list_tasks(caller=c)],
    state.list_dead_letters: lambda c: [task.tenant for task in state.list_dead_letters(caller=c)],
    state.list_error_groups: lambda c: [
        task.tenant
        for group in state.list_error_groups(caller=c)
        for task in state.list_dead_letters(fingerprint=group.fingerprint, caller=c)
    ],
    list_target_tasks: lambda c: [task.tenant for task in list_target_tasks("disk", caller=c)],
    list_targets: lambda c: [target.tenant for target in list_targets(caller=c)],
    list_workflows: lambda c: [workflow.tenant for workflow in list_workflows(caller=c)],
    projects.list_projects: lambda c: [project.tenant for project in projects.list_projects(caller=c)],
    search: lambda c: [event.tenant for event in search("whale", any_tenant=True, caller=c).items],
    list_events: lambda c: [event.tenant for event in list_events(caller=c)],
    find: lambda c: [event.tenant for event in find(make_query("whale", "no"), any_tenant=True, caller=c).items],
}


def define(tenant: str | None) -> Workflow:
    return Workflow.model_validate({"name": "x", "tenant": tenant, "steps": [{"key": "look", "kind": "approval"}]})


def raise_first(verb: Callable[..., Any], world: World, *args: Any, **options: Any) -> None:
    [outcome] = verb([world.project], *args, **options)
    raise outcome.error


def raise_own(verb: Callable[..., Any], wanted: Any, *callers: Caller) -> None:
    """Raises the error of the first of the callers of a verb that serves several."""
    own, *_ = verb([Asked(wanted, caller, copy_context()) for caller in callers])
    if isinstance(own, Exception):
        raise own


def raise_refusal(new: state.NewTask, caller: Caller) -> None:
    [outcome] = submit_each([new], caller=caller)
    assert isinstance(outcome, StateError)
    raise outcome


def look(connection: Observer, tenant: str) -> list[Any]:
    """Everything of a tenant that a verb could change."""
    found: list[Any] = []
    for table in ("tasks", "workflows", "projects", "prompts"):
        found += connection.execute(
            f"SELECT * FROM callboard.{table} WHERE tenant = %s ORDER BY id", [tenant]
        ).fetchall()
    return [*found, connection.fetch_one("SELECT count(*) FROM callboard.leases WHERE cancel_requested IS NOT NULL")]


def test_nothing_of_another_tenant_exists(worlds: Worlds, connection: Observer) -> None:
    """Nor of one that has no tenant, as all verbs filter alike."""
    before = look(connection, "b")
    for verb, (error, act) in REFUSED.items():
        with pytest.raises(error):
            pytest.fail(f"{verb.__name__}: {act(worlds.theirs, worlds.caller)}")
    for verb, read in EMPTY.items():
        assert not read(worlds.theirs, worlds.caller), verb.__name__
    assert look(connection, "b") == before


def test_the_same_verbs_find_what_is_there(worlds: Worlds) -> None:
    """Else the test above would prove nothing: the same calls, on what the caller's own tenant has."""
    for verb, (error, act) in REFUSED.items():
        if error is not Forbidden:
            try:
                act(worlds.ours, worlds.caller)
            except error as missing:
                pytest.fail(f"{verb.__name__}: {missing}")
            except (StateError, TypeError):  # another verb was there before, or there is no error to raise
                pass
    for verb, read in EMPTY.items():
        assert verb in (state.redrive, state.dismiss_many, list_targets, list_target_tasks) or read(
            worlds.ours, SYSTEM
        ), verb.__name__


def test_lists_have_only_what_is_ours(worlds: Worlds) -> None:
    for verb, read in OWN.items():
        found = read(worlds.caller)
        assert found, verb.__name__
        assert set(found) == {"a"}, verb.__name__


def test_a_caller_without_a_tenant_sees_all(worlds: Worlds) -> None:
    state.submit("quick", {}, delay_seconds=60)
    operator = Caller("operator", name="root")
    assert {task.tenant for task in state.list_tasks(caller=operator)} == {"a", "b", None}
    assert {task.tenant for task in state.list_tasks(caller=worlds.caller)} == {"a"}


def test_what_is_created_belongs_to_the_caller(worlds: Worlds, connection: Observer) -> None:
    caller = worlds.caller
    assert state.submit("quick", {}, caller=caller).tenant == "a"
    assert f"tenant:{caller.tenant}" in state.submit("quick", {}, caller=caller).gates
    assert create_workflow(define(None), caller=caller).tenant == "a"
    assert project_items.create_project("mine", caller=caller).tenant == "a"
    assert put_prompt("mine", "text", caller=caller)["tenant"] == "a"
    many = state.submit_many([state.NewTask("quick", {}), state.NewTask("quick", {}, tenant="a")], caller=caller)
    assert {state.get_task(each).tenant for each in many} == {"a"}
    run_once("key", "tasks", None, b"", lambda _: {}, caller=caller)
    assert [row["tenant"] for row in connection.execute("SELECT tenant FROM callboard.idempotency")] == ["a"]


def test_a_redrive_of_everything_touches_only_ours(worlds: Worlds) -> None:
    preview = state.redrive(all=True, dry_run=True, caller=worlds.caller)
    done = state.redrive(all=True, caller=worlds.caller)
    assert preview.tasks == done.tasks == 3  # a task, a run and a step
    assert state.get_task(worlds.ours.dead).status == "queued"
    assert state.get_task(worlds.theirs.dead).status == "dead"
    assert state.dismiss_many(all=True, caller=Caller("operator", tenant="c")).tasks == 0
    assert state.get_task(worlds.theirs.dead).status == "dead"


def test_dedup_keys_name_no_holder_of_another_tenant(worlds: Worlds) -> None:
    held = state.submit("quick", {}, tenant="b", dedup_key="free", delay_seconds=60)
    ours = state.submit("quick", {}, dedup_key="free", caller=worlds.caller)
    assert (ours.deduplicated, ours.tenant, ours.task_id == held.task_id) == (False, "a", False)


def test_equal_bytes_of_two_tenants_are_two_contents(worlds: Worlds) -> None:
    ours, theirs = (get_content(world.content) for world in (worlds.ours, worlds.theirs))
    assert ours["sha256"] == theirs["sha256"]
    made = get_generation(worlds.ours.generation, caller=worlds.caller)["contents"]
    assert [each["content_id"] for each in made] == [worlds.ours.content]

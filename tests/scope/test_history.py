"""Who has asked is in the history; tracebacks are in it for operators only."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import state
from state.access.caller import SYSTEM, Caller
from state.media.generations import get_generation
from state.projects.items import retry_item
from state.projects.queue import begin_force_stop, start_run, stop
from state.tasks.events import Event
from state.workflows import approve, cancel_workflow, get_workflow, resume_workflow
from taskapi.streams.sse import encode_done, encode_event
from taskapi.streams.task_stream import TASK
from tests.scope.world import Builder, World

ALICE = Caller("operator", tenant="a", key_id="ck_1", name="alice")
READER = Caller("reader", tenant="a")


def read_last(its_id: str, kind: str = "status") -> dict[str, Any]:
    return [event.data for event in state.get_events(its_id) if event.kind == kind][-1]


VERBS: dict[str, tuple[Callable[[World, Caller], Any], Callable[[World], str], str]] = {
    "cancel": (lambda w, c: state.cancel(w.queued, caller=c), lambda w: w.queued, "status"),
    "pause": (lambda w, c: state.pause(w.queued, caller=c), lambda w: w.queued, "status"),
    "resume": (lambda w, c: state.resume(w.paused, caller=c), lambda w: w.paused, "status"),
    "resume a dead one": (lambda w, c: state.resume(w.dead, caller=c), lambda w: w.dead, "status"),
    "retry": (lambda w, c: state.retry(w.dead, caller=c), lambda w: w.dead, "status"),
    "redrive": (lambda w, c: state.redrive(all=True, caller=c), lambda w: w.dead, "status"),
    "dismiss": (lambda w, c: state.dismiss(w.dead, caller=c), lambda w: w.dead, "status"),
    "dismiss many": (lambda w, c: state.dismiss_many(all=True, caller=c), lambda w: w.dead, "status"),
    "stop a running one": (lambda w, c: state.pause(w.running, caller=c), lambda w: w.running, "control"),
    "cancel a workflow": (lambda w, c: cancel_workflow(w.workflow, caller=c), lambda w: w.workflow, "status"),
    "retry an item": (
        lambda w, c: retry_item(w.project, w.failed_item, caller=c),
        lambda w: w.project,
        "item",
    ),
}


def test_events_say_who_has_asked(builder: Builder) -> None:
    for place, (name, (act, find, kind)) in enumerate(VERBS.items()):
        tenant = f"t{place}"  # each verb has a world of its own
        caller = Caller("operator", tenant=tenant, name="alice")
        world = builder.build(tenant)
        act(world, caller)
        assert read_last(find(world), kind)["by"] == "alice", name


def test_who_stops_a_queue_and_decides(builder: Builder) -> None:
    world = builder.build("a")
    run_id = start_run(world.project, "single", caller=ALICE)
    stop(world.project, caller=ALICE)  # cancels the run, which has no item yet
    assert read_last(run_id)["by"] == "alice"
    assert [e.data["by"] for e in state.get_events(world.project) if e.data.get("to") == "stopping"] == ["alice"]
    builder.claim(forced := start_run(world.project, "single"))
    assert begin_force_stop(world.project, caller=ALICE) == forced
    assert read_last(forced, "control") == {"stage": "requested", "request": "force", "by": "alice"}
    decided = approve(world.workflow, "look", by="Bob", caller=ALICE)
    assert decided.steps[0].decided_by == "Bob (key alice)"
    state.resume(str(get_workflow(world.failed_workflow).steps[0].task_id), caller=ALICE)
    resume_workflow(world.failed_workflow, caller=ALICE)
    assert read_last(world.failed_workflow)["by"] == "alice"


def test_an_interrupted_task_says_so(builder: Builder) -> None:
    verbs = ((state.pause, "paused"), (state.cancel, "canceled"))
    callers = ((ALICE, "Job was interrupted by user alice"), (SYSTEM, "Job was interrupted by user"))
    for (verb, status), (caller, message) in product(verbs, callers):
        claimed = builder.claim(state.submit("quick", {}, tenant="a").task_id)
        verb(claimed.id, caller=caller)
        builder.end(claimed, "released")
        task = state.get_task(claimed.id)
        assert (task.status, task.progress["message"], task.progress["percent"]) == (status, message, 0)
        ended = read_last(claimed.id)
        assert (ended["message"], ended.get("by")) == (message, caller.name)
        if status == "paused":
            assert state.resume(claimed.id).progress["message"] == "Queued"
            state.cancel(claimed.id)


def test_the_last_request_counts(builder: Builder) -> None:
    """A pause by one, and later a cancel by another."""
    claimed = builder.claim(state.submit("quick", {}, tenant="a").task_id)
    state.pause(claimed.id, caller=ALICE)
    state.cancel(claimed.id, caller=Caller("submitter", tenant="a", name="bob"))
    builder.end(claimed, "released")
    assert state.get_task(claimed.id).progress["message"] == "Job was interrupted by user bob"


def test_a_task_that_completes_was_not_interrupted(builder: Builder) -> None:
    claimed = builder.claim(state.submit("quick", {}, tenant="a").task_id)
    state.pause(claimed.id, caller=ALICE)
    builder.end(claimed, "completed", result=1)
    assert "message" not in read_last(claimed.id)
    assert "by" not in read_last(claimed.id)


def test_tracebacks_are_for_operators(builder: Builder) -> None:
    world = builder.build("a")
    generation_id = builder.fail_generation("a")
    for caller, shown in ((ALICE, "Traceback: secret line"), (READER, None), (SYSTEM, "Traceback: secret line")):
        task = state.get_task(world.dead, caller=caller)
        [listed] = [each for each in state.list_dead_letters(caller=caller) if each.task_id == world.dead]
        [attempt] = state.get_attempts(world.dead, caller=caller)
        generation = get_generation(generation_id, caller=caller)
        errors = [task.error, *task.error_history, listed.error, *listed.error_history, attempt["error"]]
        assert [error and error["traceback"] for error in [*errors, generation["error"]]] == [shown] * 6
    everything = [state.list_tasks(caller=READER), get_workflow(world.failed_workflow, caller=READER)]
    assert "secret line" not in repr(everything)


def test_streams_encode_a_second_text_only_for_a_traceback(builder: Builder) -> None:
    dead = state.get_task(builder.kill(state.submit("quick", {}).task_id))
    [plain, *_] = state.get_events(dead.task_id)
    frame = encode_event(TASK, plain)
    assert frame.plain is frame.text
    failed = Event(7, "failure", {"error": {"type": "X", "traceback": "secret line"}, "n": 1}, plain.at)
    frame = encode_event(TASK, failed)
    assert b"secret line" in frame.get_text(with_tracebacks=True)
    shown = json.loads(frame.get_text(with_tracebacks=False).split(b"data: ")[1])
    assert shown["data"] == {"error": {"type": "X", "traceback": None}, "n": 1}
    assert b"secret line" in encode_done(TASK, dead, with_tracebacks=True)
    assert b"secret line" not in encode_done(TASK, dead, with_tracebacks=False)

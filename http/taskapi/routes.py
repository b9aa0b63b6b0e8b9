"""Every operation: where it is, who answers, what goes in and what comes out. OpenAPI is made from the same list."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from taskapi import (
    contents,
    control,
    deadletters,
    directory,
    gates,
    generations,
    health,
    providers,
    queues,
    stream,
    submission,
    targets,
    tasks,
)
from taskapi.requests import (
    CancelBody,
    EventQuery,
    GateBody,
    GateQuery,
    NewTaskBody,
    PreviewBody,
    PromptBody,
    StreamQuery,
    SummarizeBody,
    TargetQuery,
    TaskQuery,
    TenantQuery,
)
from taskapi.views import (
    PREFIX,
    AcceptedTask,
    ActorView,
    AttemptView,
    EventView,
    GateView,
    GenerationView,
    Health,
    Page,
    PreviewView,
    PromptView,
    ProviderView,
    QueuesStatus,
    QueueSwitch,
    Sign,
    TargetView,
    TaskView,
    WorkerView,
)

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    handler: Handler
    summary: str
    answers: dict[int, type[BaseModel] | str | None]  # a model, or a media type, or nothing
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    also: tuple[str, ...] = field(default=())  # older names of the same thing


_SUBMIT_PROBLEMS = (
    "empty-body",
    "invalid-encoding",
    "invalid-json",
    "unknown-actor",
    "idempotency-pending",
    "body-too-large",
    "invalid-input",
    "invalid-parameter",
    "idempotency-conflict",
)

_BODY_PROBLEMS = ("empty-body", "invalid-encoding", "invalid-json", "body-too-large", "invalid-input")

OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/tasks",
        submission.post_task,
        "Submit a task; 200 when its dedup key is held by another, which is the answer then",
        {202: AcceptedTask, 200: AcceptedTask},
        body=NewTaskBody,
        headers=("Idempotency-Key",),
        problems=_SUBMIT_PROBLEMS,
        also=("/api/task",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks",
        tasks.get_tasks,
        "List tasks, newest first",
        {200: Page[TaskView]},
        query=TaskQuery,
        problems=("invalid-parameter",),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/summarize",
        submission.post_summarize,
        "Submit a text to summarize",
        {202: AcceptedTask, 200: AcceptedTask},
        body=SummarizeBody,
        headers=("Idempotency-Key",),
        problems=_SUBMIT_PROBLEMS,
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}",
        tasks.get_one,
        "Show a task",
        {200: TaskView},
        problems=("task-not-found",),
        also=("/api/task/{task_id}",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/attempts",
        tasks.get_attempts_of,
        "List a task's executions",
        {200: Page[AttemptView]},
        problems=("task-not-found",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/events",
        tasks.get_events_of,
        "List the lines of a task's history",
        {200: Page[EventView]},
        query=EventQuery,
        problems=("task-not-found", "invalid-parameter"),
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/stream",
        stream.get_stream,
        "Follow a task: a snapshot, then its history as it is written, then `done`; 204 after that",
        {200: "text/event-stream", 204: None},
        query=StreamQuery,
        headers=("Last-Event-ID",),
        problems=("task-not-found", "invalid-parameter"),
        also=("/api/task/{task_id}/stream",),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/cancel",
        tasks.post_cancel,
        "Cancel a task: 200 when it is canceled, 202 when its worker must stop first",
        {200: TaskView, 202: TaskView},
        body=CancelBody,
        problems=("task-not-found", "illegal-transition", "invalid-input"),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/requeue-orphaned",
        control.post_requeue_orphaned,
        "Look now for tasks whose worker is gone, and say what was found",
        {200: control.RecoveredView},
    ),
    Operation(
        "DELETE",
        f"{PREFIX}/tasks/{{task_id}}",
        control.delete_one,
        "Hide a finished task; its history is kept",
        {204: None},
        problems=("task-not-found", "illegal-transition"),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/pause",
        control.post_pause,
        "Pause a task: 200 when it is paused, 202 when its worker must stop first",
        {200: TaskView, 202: TaskView},
        problems=("task-not-found", "illegal-transition"),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/resume",
        control.post_resume,
        "Let a paused or dead task go on from where it was",
        {200: TaskView},
        problems=("task-not-found", "illegal-transition"),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/retry",
        control.post_retry,
        "Run a dead task, or one that waits for its retry, again now; perhaps with another payload",
        {200: TaskView},
        body=control.RetryBody,
        problems=("task-not-found", "illegal-transition", "unknown-actor", *_BODY_PROBLEMS),
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/dismiss",
        control.post_dismiss,
        "Give a dead task up: it is canceled",
        {200: TaskView},
        problems=("task-not-found", "illegal-transition"),
    ),
    Operation(
        "GET",
        f"{PREFIX}/queues/dlq",
        deadletters.get_dead_letters,
        "List the dead letters, newest first",
        {200: Page[TaskView]},
        query=deadletters.DeadLetterQuery,
        problems=("invalid-parameter",),
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/dlq/redrive",
        deadletters.post_redrive,
        "Run all dead letters that fit a filter again",
        {200: deadletters.BulkView},
        body=deadletters.BulkBody,
        problems=("empty-filter", *_BODY_PROBLEMS),
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/dlq/dismiss",
        deadletters.post_dismiss,
        "Give all dead letters that fit a filter up",
        {200: deadletters.BulkView},
        body=deadletters.BulkBody,
        problems=("empty-filter", *_BODY_PROBLEMS),
    ),
    Operation("GET", f"{PREFIX}/actors", directory.get_actors, "List the kinds of work", {200: Page[ActorView]}),
    Operation("GET", f"{PREFIX}/workers", directory.get_workers, "List the workers", {200: Page[WorkerView]}),
    Operation(
        "GET",
        f"{PREFIX}/contents/{{content_id}}",
        contents.get_contents,
        "Download what an actor made",
        {200: "application/octet-stream", 206: "application/octet-stream", 304: None},
        headers=("Range", "If-None-Match"),
        problems=("content-not-found", "content-bytes-missing", "range-not-satisfiable", "content-store-failed"),
    ),
    Operation("GET", "/health", health.get_health, "How everything is", {200: Health, 503: Health}),
    Operation("GET", "/livez", health.get_livez, "Is this process alive?", {200: Sign}),
    Operation(
        "GET",
        "/readyz",
        health.get_readyz,
        "Can this process serve: database and migrations",
        {200: Sign},
        problems=("not-ready",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/gates",
        gates.get_gates,
        "List the gates",
        {200: Page[GateView]},
        query=GateQuery,
        problems=("invalid-parameter",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/gates/{{key:path}}",
        gates.get_one,
        "Show a gate",
        {200: GateView},
        problems=("unknown-gate",),
    ),
    Operation(
        "PUT",
        f"{PREFIX}/gates/{{key:path}}",
        gates.put_one,
        "Change a gate; takes effect with the next start of a task",
        {200: GateView},
        body=GateBody,
        problems=("unknown-gate", *_BODY_PROBLEMS),
    ),
    Operation(
        "GET",
        f"{PREFIX}/queues/status",
        queues.get_status,
        "How many tasks stand where",
        {200: QueuesStatus},
    ),
    Operation(
        "GET",
        f"{PREFIX}/queues/stream",
        queues.get_stream,
        "Follow the queues: `status` when something has changed, at most each second",
        {200: "text/event-stream"},
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/{{name}}/pause",
        queues.post_pause,
        "Let no more tasks of a queue start",
        {200: QueueSwitch},
        problems=("unknown-queue",),
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/{{name}}/resume",
        queues.post_resume,
        "Let the tasks of a queue start again",
        {200: QueueSwitch},
        problems=("unknown-queue",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/targets/{{target:path}}",
        targets.get_target,
        "List a target's unfinished tasks in order of arrival",
        {200: TargetView},
        query=TargetQuery,
        problems=("invalid-parameter",),
    ),
    Operation(
        "POST",
        f"{PREFIX}/targets/{{target:path}}/jobs/{{task_id}}/resume",
        targets.post_resume,
        "Let a paused or dead task of a target go on",
        {200: TaskView},
        query=TenantQuery,
        problems=("task-not-found", "illegal-transition", "invalid-parameter"),
    ),
    Operation(
        "POST",
        f"{PREFIX}/targets/{{target:path}}/jobs/{{task_id}}/clear",
        targets.post_clear,
        "Take a task out of a target's line: 200 when it is canceled, 202 when its worker must stop first",
        {200: TaskView, 202: TaskView},
        query=TenantQuery,
        problems=("task-not-found", "illegal-transition", "invalid-parameter"),
    ),
    Operation(
        "GET",
        f"{PREFIX}/providers",
        providers.get_providers,
        "List the services behind the work, and what they can do",
        {200: Page[ProviderView]},
    ),
    Operation(
        "POST",
        f"{PREFIX}/providers/{{name}}/preview",
        providers.post_preview,
        "What an action would cost and give, without doing it",
        {200: PreviewView},
        body=PreviewBody,
        problems=("unknown-provider", *_BODY_PROBLEMS),
    ),
    Operation(
        "GET",
        f"{PREFIX}/generations/{{generation_id}}",
        generations.get_one,
        "Show a request to a media provider and what it gave",
        {200: GenerationView},
        problems=("generation-not-found",),
    ),
    Operation(
        "GET",
        f"{PREFIX}/prompts/{{prompt_id}}",
        generations.get_one_prompt,
        "Show a stored prompt",
        {200: PromptView},
        query=TenantQuery,
        problems=("prompt-not-found", "invalid-parameter"),
    ),
    Operation(
        "PUT",
        f"{PREFIX}/prompts/{{prompt_id}}",
        generations.put_one_prompt,
        "Store or replace a prompt",
        {200: PromptView},
        body=PromptBody,
        query=TenantQuery,
        problems=(*_BODY_PROBLEMS, "invalid-parameter"),
    ),
]


def routes() -> list[Route]:
    """One route for each path, so that a refused method is told of all that are possible."""
    handlers: dict[str, dict[str, Handler]] = {}
    for operation in OPERATIONS:
        for path in (operation.path, *operation.also):
            handlers.setdefault(path, {})[operation.method] = operation.handler
    return [Route(path, _by_method(methods), methods=list(methods)) for path, methods in handlers.items()]


def _by_method(handlers: dict[str, Handler]) -> Handler:
    async def dispatch(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return dispatch

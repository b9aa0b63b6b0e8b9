"""POST /tasks and /tasks/summarize: submitting tasks, each once if the request has an `Idempotency-Key`."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from state.access.caller import SYSTEM, Caller
from state.database import AnyConnection
from state.database.notifier import notify_work
from state.errors import InvalidPayload
from state.tasks.idempotency import run_once
from state.tasks.new_task import NewTask
from state.tasks.reads import Task
from state.tasks.sharing import submit_together
from state.tasks.submission import submit_new
from state.webhooks.subscription import DEFAULT, MAX_URL, POSSIBLE, WebhookEvent
from taskapi.api.bodies import SMALL, parse_body, read_raw_body
from taskapi.api.moments import Moment
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import parse_idempotency_key
from taskapi.api.priorities import Priority
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_shared, run_verb
from taskapi.resources.tasks import Links, TaskView


class TaskOptions(BaseModel):
    """Everything about a task except its actor and payload. The actor's declaration applies where nothing is given."""

    model_config = ConfigDict(strict=True, extra="forbid")

    queue: str | None = Field(None, min_length=1, max_length=200)
    priority: Priority | None = Field(
        None, description="0 comes first. Unset: the agent's default, or 2 for other actors."
    )
    max_attempts: int | None = Field(None, ge=1, le=1000)
    delay_seconds: float | None = Field(None, ge=0)
    available_at: Moment | None = None
    max_age_seconds: float | None = Field(None, ge=0, description="Counted from the moment the task may start.")
    tenant: str | None = Field(None, min_length=1, max_length=200)
    target: str | None = Field(None, min_length=1, max_length=200, description="A target runs one task at a time.")
    dedup_key: str | None = Field(None, min_length=1, max_length=200)
    dedup_ttl_seconds: float = Field(24 * 3600.0, ge=0, description="The longest time that the key is held.")
    workflow_id: str | None = Field(None, max_length=200, description="A running workflow that the task joins.")
    webhook_url: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_URL,
        description="Where moves of the task are reported, signed: an https URL.",
    )
    webhook_events: list[WebhookEvent] | None = Field(
        None, min_length=1, max_length=len(POSSIBLE), description=f"Unset: {', '.join(DEFAULT)}."
    )

    def build_task(self, actor: str, payload: dict[str, Any]) -> NewTask:
        options = {name: getattr(self, name) for name in TaskOptions.model_fields}
        return NewTask(actor, payload, **options)


class NewTaskBody(TaskOptions):
    """A task. `task_type` may stand for `actor`."""

    actor: str = Field(min_length=1, max_length=200, description="See GET /api/v1/actors.")
    payload: dict[str, Any] = Field(description="Must fit the actor's payload schema.")

    @model_validator(mode="before")
    @classmethod
    def _rename_task_type(cls, body: Any) -> Any:
        if isinstance(body, dict) and "task_type" in body and "actor" not in body:
            body = {("actor" if name == "task_type" else name): value for name, value in body.items()}
        return body

    def to_task(self) -> NewTask:
        return self.build_task(self.actor, self.payload)


class SummarizeBody(TaskOptions):
    """A text to summarize."""

    content: str
    max_sentences: int | None = None

    def to_task(self) -> NewTask:
        payload: dict[str, Any] = {"content": self.content}
        if self.max_sentences is not None:
            payload["max_sentences"] = self.max_sentences
        return self.build_task("summarize", payload)


class AcceptedTask(TaskView):
    """The submitted task. If `deduplicated` is true, it is the existing task that holds the dedup key."""

    deduplicated: bool = False


async def post_task(request: Request) -> Response:
    return await _submit(request, "tasks", NewTaskBody)


async def post_summarize(request: Request) -> Response:
    try:
        return await _submit(request, "tasks/summarize", SummarizeBody)
    except InvalidPayload as refused:  # names a field of the payload, but the client sent it beside the options
        name = refused.field.removeprefix("payload.")
        message = str(refused).removeprefix(f"{refused.field}: ")
        raise Problem.at_field("invalid-input", name, message) from None


async def _submit(request: Request, route: str, model: type[NewTaskBody] | type[SummarizeBody]) -> Response:
    """A small task shares its statement and its commit with those that arrive at the same time. One with a key or a
    workflow needs a transaction of its own, and one with a large body would hold up the others."""
    raw = await read_raw_body(request, large=True)
    key = parse_idempotency_key(request)
    if len(raw) > SMALL:
        return await run_verb(request, _submit_large, raw, route, model, key)
    new = parse_body(raw, model).to_task()
    if key is not None or new.goes_alone:
        return await run_verb(request, _submit_alone, new, raw, route, key)
    return _send_accepted(await run_shared(request, submit_together, new, _describe))


def _submit_large(
    raw: bytes, route: str, model: type[NewTaskBody] | type[SummarizeBody], key: str | None, *, caller: Caller = SYSTEM
) -> Response:
    return _submit_alone(parse_body(raw, model).to_task(), raw, route, key, caller=caller)


def _submit_alone(new: NewTask, raw: bytes, route: str, key: str | None, *, caller: Caller = SYSTEM) -> Response:
    def submit(conn: AnyConnection | None) -> dict[str, Any]:
        return _describe(submit_new(new, conn=conn, caller=caller).without_tracebacks())  # others may repeat it

    if key is None:
        return _send_accepted(submit(None))
    accepted, replayed = run_once(key, route, new.tenant, raw, submit, caller=caller)
    if replayed:
        return _send_accepted(accepted, {"Idempotent-Replayed": "true"})
    notify_work([accepted["queue"]])  # submit_new does not notify inside a transaction that is still open
    return _send_accepted(accepted)


def _describe(task: Task) -> dict[str, Any]:
    return {
        "status": 200 if task.deduplicated else 202,
        "location": Links.of(task.task_id).self,
        "queue": task.queue,
        "body": AcceptedTask.of(task).model_dump_json(),  # as text: jsonb would change the order of its members
    }


def _send_accepted(accepted: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    headers = {"Location": accepted["location"], **(headers or {})}
    return Response(accepted["body"], accepted["status"], headers, "application/json")


_PROBLEMS = (
    "empty-body",
    "invalid-encoding",
    "invalid-json",
    "unknown-actor",
    "workflow-not-found",
    "workflow-not-running",
    "idempotency-pending",
    "body-too-large",
    "invalid-input",
    "invalid-parameter",
    "idempotency-conflict",
)

OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/tasks",
        post_task,
        "Submit a task; 200 and the existing task if another task holds its dedup key",
        {202: AcceptedTask, 200: AcceptedTask},
        body=NewTaskBody,
        headers=("Idempotency-Key",),
        sends=("Location",),
        problems=_PROBLEMS,
        older_paths=("/api/task",),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/summarize",
        post_summarize,
        "Submit a text to summarize",
        {202: AcceptedTask, 200: AcceptedTask},
        body=SummarizeBody,
        headers=("Idempotency-Key",),
        sends=("Location",),
        problems=_PROBLEMS,
        role="submitter",
        scope="tenant",
    ),
]

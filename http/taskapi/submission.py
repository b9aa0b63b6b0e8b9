"""POST /tasks and /tasks/summarize: accepted means that it will end."""

from typing import Any

import psycopg
from starlette.requests import Request
from starlette.responses import Response

from state.database.notifier import notify_work
from state.errors import InvalidPayload
from state.tasks.idempotency import Answer, once
from state.tasks.submission import NewTask, submit_new
from taskapi.bodies import parse_body, read_body
from taskapi.problems import at_field
from taskapi.requests import NewTaskBody, SummarizeBody, idempotency_key_of
from taskapi.threads import call
from taskapi.views import AcceptedTask, Links


async def post_task(request: Request) -> Response:
    return await call(request, _accept_task, await read_body(request), idempotency_key_of(request))


async def post_summarize(request: Request) -> Response:
    return await call(request, _accept_text, await read_body(request), idempotency_key_of(request))


def _accept_task(raw: bytes, key: str | None) -> Response:
    return _accept("tasks", parse_body(raw, NewTaskBody).new_task(), raw, key)


def _accept_text(raw: bytes, key: str | None) -> Response:
    try:
        return _accept("tasks/summarize", parse_body(raw, SummarizeBody).new_task(), raw, key)
    except InvalidPayload as refused:  # this client has sent no payload, but its fields
        name = refused.field.removeprefix("payload.")
        raise at_field("invalid-input", name, str(refused).removeprefix(f"{refused.field}: ")) from None


def _accept(route: str, new: NewTask, raw: bytes, key: str | None) -> Response:
    def act(conn: psycopg.Connection[Any] | None) -> Answer:
        task = submit_new(new, conn=conn)
        # As text: stored as JSON, it would come back with its members in another order.
        return {
            "status": 200 if task.deduplicated else 202,
            "location": Links.of(task.task_id).self,
            "queue": task.queue,
            "body": AcceptedTask.of(task).model_dump_json(),
        }

    if key is None:
        return _accepted(act(None))
    answer, replayed = once(key, route, new.tenant, raw, act)
    if replayed:
        return _accepted(answer, {"Idempotent-Replayed": "true"})
    notify_work([answer["queue"]])  # inside a transaction, submit cannot ring: only now there is something to find
    return _accepted(answer)


def _accepted(answer: Answer, headers: dict[str, str] | None = None) -> Response:
    headers = {"Location": answer["location"], **(headers or {})}
    return Response(answer["body"], answer["status"], headers, "application/json")

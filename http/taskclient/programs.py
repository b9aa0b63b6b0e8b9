"""Calls of the API: building a request, sending it again where that is safe, and parsing the answer."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote
from uuid import uuid4

from taskclient.effects import Answer, Emit, Emitting, Lost, Program, Request, Send, Sleep
from taskclient.errors import AnswerLost, ServerUnreachable, make_problem
from taskclient.models import Attempt, BatchOutcome, Event, ListedTask, Task
from taskclient.retries import Backoff, is_temporary, read_retry_after

_T = TypeVar("_T")
_TASKS = "/api/v1/tasks"
_REPEATABLE = frozenset(("GET", "HEAD", "PUT"))
BATCH = 100  # tasks of one request: the server takes more, but its answer leaves out tasks beyond 8 MiB


class TaskOptions(TypedDict, total=False):
    """See POST /api/v1/tasks."""

    queue: str
    priority: int | str
    max_attempts: int
    max_age_seconds: float
    delay_seconds: float
    available_at: str
    tenant: str
    target: str
    dedup_key: str
    dedup_ttl_seconds: float
    workflow_id: str
    webhook_url: str
    webhook_events: list[str]


class TaskFilter(TypedDict, total=False):
    """See GET /api/v1/tasks."""

    status: str
    actor: str
    agent_name: str
    task_type: str
    queue: str
    lane: str
    workflow_id: str
    workflow_run_id: str
    target: str
    tenant: str
    error_type: str


@dataclass(frozen=True, slots=True)
class Call(Generic[_T]):
    """One request, and what its answer means. `repeatable`: carrying it out twice does no harm."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    parse: Callable[[Any], _T] = lambda document: document
    repeatable: bool | None = None  # None: by the method

    def to_request(self) -> Request:
        headers = {"Accept": "application/json", **self.headers}
        content = None
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode()
        params = {name: _write(value) for name, value in self.params.items() if value is not None}
        return Request(self.method, self.path, params, headers, content)


def call(this: Call[_T], patience: float) -> Program[_T]:
    """Sends the request until there is an answer, as long as that is safe and the patience lasts."""
    request, backoff = this.to_request(), Backoff(patience)
    repeatable = this.method in _REPEATABLE if this.repeatable is None else this.repeatable
    while True:
        answer = yield Send(request)
        if isinstance(answer, Lost):
            if answer.sent and not repeatable:
                raise AnswerLost(
                    f"The connection broke before the answer came ({answer.reason}). It may have happened."
                )
            pause = backoff.next_pause()
            if pause is None:
                raise ServerUnreachable(answer.reason)
        else:
            assert isinstance(answer, Answer)  # noqa: S101
            if answer.status < 400:
                return this.parse(json.loads(answer.body) if answer.body else None)
            pause = _choose_pause(answer, backoff, repeatable)
            if pause is None:
                raise make_problem(answer.status, answer.headers, answer.body)
        yield Sleep(pause)


def _choose_pause(answer: Answer, backoff: Backoff, repeatable: bool) -> float | None:
    """Returns when to send a refused request again, or None: never. After 429 the server has done nothing."""
    pending = answer.status == 409 and b'"idempotency-pending"' in answer.body
    if not (answer.status == 429 or (repeatable and (pending or is_temporary(answer.status)))):
        return None
    return backoff.next_pause(read_retry_after(answer.headers))


def iterate(this: Call[Any], parse: Callable[[Any], _T], patience: float) -> Emitting[_T]:
    """Emits the items of all pages of a list."""
    cursor: str | None = None
    while True:
        params = {**this.params, "cursor": cursor}
        page: dict[str, Any] = yield from call(Call(this.method, this.path, params), patience)
        for item in page["items"]:
            yield Emit(parse(item))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def request(method: str, path: str, params: Mapping[str, Any], body: Any, key: str | None) -> Call[Any]:
    if key is None:
        return Call(method, path, params, body)
    return Call(method, path, params, body, {"Idempotency-Key": key}, repeatable=True)


def submit(actor: str, payload: Mapping[str, Any], key: str | None, options: Mapping[str, Any]) -> Call[Task]:
    """The key makes it safe to send it again: the server remembers its answer for a day."""
    body = {"actor": actor, "payload": payload, **options}
    headers = {"Idempotency-Key": key or uuid4().hex}
    return Call("POST", _TASKS, body=body, headers=headers, parse=Task.model_validate, repeatable=True)


def submit_many(tasks: Iterable[Mapping[str, Any]], patience: float) -> Emitting[BatchOutcome]:
    """Emits an outcome for each task, in order."""
    left: Iterator[Mapping[str, Any]] = iter(tasks)
    while batch := list(islice(left, BATCH)):
        for outcome in (yield from call(submit_batch(batch), patience)):
            yield Emit(outcome)


def submit_batch(tasks: Sequence[Mapping[str, Any]]) -> Call[list[BatchOutcome]]:
    headers = {"Idempotency-Key": uuid4().hex}
    return Call(
        "POST", f"{_TASKS}/batch", body={"tasks": tasks}, headers=headers, parse=_parse_outcomes, repeatable=True
    )


def locate(task_id: str) -> str:
    return f"{_TASKS}/{quote(task_id, safe='')}"


def get(task_id: str) -> Call[Task]:
    return Call("GET", locate(task_id), parse=Task.model_validate)


def act(task_id: str, verb: str, body: Any = None) -> Call[Task]:
    return Call("POST", f"{locate(task_id)}/{verb}", body=body, parse=Task.model_validate)


def delete(task_id: str) -> Call[None]:
    return Call("DELETE", locate(task_id))


def attempts(task_id: str) -> Call[list[Attempt]]:
    return Call("GET", f"{locate(task_id)}/attempts", parse=_parse_attempts)


def list_tasks(filters: Mapping[str, Any], patience: float) -> Emitting[ListedTask]:
    return iterate(Call("GET", _TASKS, filters), ListedTask.model_validate, patience)


def list_events(task_id: str, after: int, patience: float) -> Emitting[Event]:
    return iterate(Call("GET", f"{locate(task_id)}/events", {"after": after or None}), Event.model_validate, patience)


def _parse_attempts(page: Any) -> list[Attempt]:
    return [Attempt.model_validate(item) for item in page["items"]]


def _parse_outcomes(page: Any) -> list[BatchOutcome]:
    return [BatchOutcome.model_validate(item) for item in page["items"]]


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""POST /tasks/batch: many tasks in one request, each with its own outcome."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.database import AnyConnection
from state.database.notifier import notify_work
from state.tasks.batches import MOST_TASKS, Accepted, submit_each
from state.tasks.idempotency import run_once
from state.tasks.new_task import NewTask
from state.tasks.reads import get_tasks_of_many
from taskapi.api.bodies import parse_body, read_raw_body
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import CHUNK, MAX_BYTES, Page
from taskapi.api.parameters import parse_idempotency_key
from taskapi.api.problems import Problem, ProblemView, to_problem
from taskapi.api.verbs import run_verb
from taskapi.resources.submission import AcceptedTask, NewTaskBody


class TaskBatchBody(BaseModel):
    """Tasks as for POST /tasks. Each is checked by itself."""

    model_config = ConfigDict(strict=True, extra="forbid")

    tasks: list[SkipValidation[NewTaskBody]] = Field(min_length=1, max_length=MOST_TASKS)


class TaskOutcome(BaseModel):
    """What POST /tasks would answer for the task: `task`, or `problem`. In an answer of more than 8 MiB the last tasks
    are left out; their ids are there."""

    status: int = Field(description="202 accepted, 200 deduplicated, 4xx refused.")
    task_id: str | None
    task: AcceptedTask | None
    problem: ProblemView | None


async def post_batch(request: Request) -> Response:
    raw = await read_raw_body(request, large=True)
    return await run_verb(request, _submit_batch, raw, parse_idempotency_key(request))


def _submit_batch(raw: bytes, key: str | None, *, caller: Caller = SYSTEM) -> Response:
    tasks = [_parse_task(task) for task in parse_body(raw, TaskBatchBody).tasks]

    def submit(conn: AnyConnection | None) -> dict[str, Any]:
        outcomes = list(_submit(tasks, conn, caller))
        queues = sorted({each.queue for each in outcomes if isinstance(each, Accepted)})
        return {"queues": queues, "body": _write_outcomes(outcomes, conn, caller)}

    if key is None:
        return Response(submit(None)["body"], media_type="application/json")
    answer, replayed = run_once(key, "tasks/batch", None, raw, submit, caller=caller)
    if replayed:
        return Response(answer["body"], headers={"Idempotent-Replayed": "true"}, media_type="application/json")
    notify_work(answer["queues"])  # submit_each does not notify inside a transaction that is still open
    return Response(answer["body"], media_type="application/json")


def _parse_task(value: Any) -> NewTask | Problem:
    if not isinstance(value, dict):
        return Problem("invalid-input", "A task must be a JSON object.")
    try:
        return NewTaskBody.model_validate(value).to_task()
    except ValidationError as refused:
        return Problem.of_validation("invalid-input", refused)


def _submit(
    tasks: Sequence[NewTask | Problem], conn: AnyConnection | None, caller: Caller
) -> Iterator[Accepted | Problem]:
    outcomes = iter(submit_each([each for each in tasks if isinstance(each, NewTask)], conn=conn, caller=caller))
    for task in tasks:
        outcome = task if isinstance(task, Problem) else next(outcomes)
        yield outcome if isinstance(outcome, Accepted) else to_problem(outcome)


def _write_outcomes(outcomes: Sequence[Accepted | Problem], conn: AnyConnection | None, caller: Caller) -> str:
    """Writes the answer. The tasks are read in chunks: those that hold dedup keys may have megabytes each."""
    texts: list[str] = []
    room = MAX_BYTES
    for start in range(0, len(outcomes), CHUNK):
        chunk = outcomes[start : start + CHUNK]
        ids = [each.task_id for each in chunk if isinstance(each, Accepted)] if room > 0 else []
        found = get_tasks_of_many(ids, conn=conn, caller=caller) if ids else {}
        for outcome in chunk:
            if isinstance(outcome, Problem):
                texts.append(_write(outcome.status, problem=jsonsafe.dump(outcome.to_document())))
                continue
            task = found.get(outcome.task_id) if room > 0 else None
            shown = "null"
            if task is not None:
                task.deduplicated = outcome.deduplicated
                shown = AcceptedTask.of(task.without_tracebacks()).model_dump_json()
                room -= len(shown)
            texts.append(_write(200 if outcome.deduplicated else 202, task_id=f'"{outcome.task_id}"', task=shown))
    return f'{{"items":[{",".join(texts)}],"next_cursor":null}}'


def _write(status: int, *, task_id: str = "null", task: str = "null", problem: str = "null") -> str:
    return f'{{"status":{status},"task_id":{task_id},"task":{task},"problem":{problem}}}'


OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/tasks/batch",
        post_batch,
        "Submit many tasks; the answer has an outcome for each, in order",
        {200: Page[TaskOutcome]},
        f"At most {MOST_TASKS} tasks. Those that are accepted are stored together; one that is refused does not stop "
        "the others. With an `Idempotency-Key` the whole answer is repeated.",
        body=TaskBatchBody,
        headers=("Idempotency-Key",),
        problems=(*BODY_PROBLEMS, "invalid-parameter", "idempotency-pending", "idempotency-conflict"),
        role="submitter",
        scope="tenant",
    ),
]

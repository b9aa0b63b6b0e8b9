"""POST /tasks/bulk: an action on many tasks, with a preview."""

from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.bulk import PREVIEWED, STEP, Action, FailureReason, Left, Outcome, Reason, act_on_all, act_on_tasks
from state.tasks.ids import ID_PATTERNS, is_task_id
from state.transitions import Status
from taskapi.api.bodies import read_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import decode_cursor, encode_cursor
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import TaskFilter, Text

_View = TypeVar("_View", bound="LeftTasks")

TaskId = Annotated[str, Field(pattern=f"^{ID_PATTERNS['task_id']}$")]


class BulkFilter(TaskFilter):
    """As of GET /tasks."""

    model_config = ConfigDict(extra="forbid")

    text: Text = None


class BulkActionBody(BaseModel):
    """Either `ids`, or `filter`. A filter that is empty, or has a tenant only, needs `all`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    action: Action
    ids: list[TaskId] | None = Field(None, min_length=1, max_length=STEP)
    filter: BulkFilter | None = None
    all: bool = Field(False, description="Required if there is no filter.")
    cursor: str | None = Field(
        None,
        description="`cursor` of the preview, or `next_cursor` of the step before. Without it: from the newest on.",
    )
    dry_run: bool = Field(False, description="Change nothing; return what would be done.")


class MovedTasks(BaseModel):
    actor: str
    status: Status = Field(description="Before.")
    becomes: str = Field(description="A status; or `stopping`: a worker runs it, and is asked to stop.")
    tasks: int


class LeftTasks(BaseModel):
    status: Status | None
    tasks: int
    task_ids: list[str] = Field(description="Of some of them.")


class SkippedTasks(LeftTasks):
    """Tasks that stay as they are, as the action is not for them."""

    reason: Reason = Field(
        description="not-found; forbidden (you may not give its actor work); changed (it does not match the filter any "
        "more); illegal-transition (not possible in its status); stopping (it is asked already); dedup-key-taken; "
        "queue-already-running (another run of its project is in its place)."
    )


class FailedTasks(LeftTasks):
    """Tasks that stay as they are, and with which another try makes sense."""

    reason: FailureReason = Field(description="locked (by another transaction); internal-error.")


class BulkActionView(BaseModel):
    """What was done in this step; with `dry_run`, what would be done in all steps."""

    action: Action
    dry_run: bool
    tasks: int
    groups: list[MovedTasks]
    skipped: list[SkippedTasks]
    failed: list[FailedTasks]
    cursor: str | None = Field(None, description="Of a preview: where the first step begins.")
    next_cursor: str | None = Field(
        None,
        description=f"Where the next step begins: a step has {STEP} tasks at most. Null: there is none. Of a preview: "
        f"not null if more than {PREVIEWED} tasks match, or a text could not be searched for in all of them.",
    )

    @classmethod
    def of(cls, body: BulkActionBody, outcome: Outcome) -> "BulkActionView":
        return cls(
            action=body.action,
            dry_run=body.dry_run,
            tasks=outcome.tasks,
            groups=[MovedTasks.model_validate(group._asdict()) for group in outcome.groups],
            skipped=list(_show(SkippedTasks, outcome.skipped)),
            failed=list(_show(FailedTasks, outcome.failed)),
            cursor=_encode(outcome.begins),
            next_cursor=_encode(outcome.goes_on),
        )


def _show(view: type[_View], groups: Iterable[Left]) -> Iterator[_View]:
    for group in groups:
        fields = {"reason": group.reason, "status": group.status, "tasks": group.tasks, "task_ids": group.ids}
        yield view.model_validate(fields)


def _encode(position: str | None) -> str | None:
    return None if position is None else encode_cursor(position)


async def post_bulk(request: Request) -> Response:
    body = await read_body(request, BulkActionBody)
    if body.ids is not None:
        if body.filter is not None or body.all or body.cursor is not None:
            raise Problem.at_field("invalid-input", "ids", "goes without filter, all and cursor")
        return _send(body, await run_verb(request, act_on_tasks, body.ids, body.action, dry_run=body.dry_run))
    before = None if body.cursor is None else decode_cursor(body.cursor, is_task_id, "invalid-input")
    filters = (body.filter or BulkFilter()).model_dump()
    return _send(
        body,
        await run_verb(request, act_on_all, body.action, all=body.all, before=before, dry_run=body.dry_run, **filters),
    )


def _send(body: BulkActionBody, outcome: Outcome) -> Response:
    return send_json(BulkActionView.of(body, outcome))


OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/tasks/bulk",
        post_bulk,
        "Cancel, pause, resume, retry or dismiss many tasks: by their ids, or all that match a filter, in steps",
        {200: BulkActionView},
        body=BulkActionBody,
        problems=("empty-filter", *BODY_PROBLEMS),
        role="submitter",
        scope="tenant",
    ),
]

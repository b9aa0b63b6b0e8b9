"""Generations: one row for each request to a media provider, whatever became of it."""

from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from state import jsonsafe
from state.database.connection import Row
from state.database.pool import fetch_one, retrying
from state.errors import GenerationNotFound, LeaseLost
from state.masking import mask_data
from state.media.contents import StoredBytes
from state.tasks.ids import new_content_id, new_generation_id


@dataclass(frozen=True, slots=True)
class Begun:
    """A task's generation. `content_ids` are there when an earlier attempt had finished it and died too early to say
    so; `prompt` is the text, also where the request names a stored one (None when that does not exist)."""

    id: str
    prompt: str | None
    content_ids: list[str] | None


@retrying
def begin_generation(
    worker: str,
    task_id: str,
    epoch: int,
    *,
    provider: str,
    action_type: str,
    prompt: str | None,
    prompt_id: str | None,
    request: dict[str, Any],
) -> Begun:
    """The task's generation row; a later attempt goes on with the one that is there, and with its prompt."""
    row = fetch_one(
        "generation_begin",
        {
            "id": new_generation_id(),
            "worker": worker,
            "task_id": task_id,
            "epoch": epoch,
            "provider": provider,
            "action_type": action_type,
            "prompt": prompt,
            "prompt_id": prompt_id,
            "request": Jsonb(request, dumps=jsonsafe.dump),
        },
    )
    return Begun(**_owned(row, task_id, epoch))


@retrying
def finish_generation(
    worker: str, task_id: str, epoch: int, *, raw_response: dict[str, Any], contents: list[StoredBytes]
) -> list[str]:
    """Content rows and the generation's completion, in one statement. Answers the content ids in order."""
    row = fetch_one(
        "generation_finish",
        {
            "worker": worker,
            "task_id": task_id,
            "epoch": epoch,
            "raw_response": _outside(raw_response),
            "ids": [new_content_id() for _ in contents],
            "hashes": [each.sha256 for each in contents],
            "sizes": [each.size for each in contents],
            "types": [each.media_type for each in contents],
        },
    )
    return list(_owned(row, task_id, epoch)["content_ids"])


@retrying
def fail_generation(
    worker: str, task_id: str, epoch: int, error: dict[str, Any], raw_response: dict[str, Any] | None
) -> None:
    """Says why. When the error's category is not permanent, another attempt may go on with the same row."""
    raw = None if raw_response is None else _outside(raw_response)
    parameters = {"worker": worker, "task_id": task_id, "epoch": epoch, "error": _outside(mask_data(error))}
    _owned(fetch_one("generation_fail", {**parameters, "raw_response": raw}), task_id, epoch)


@retrying
def get_generation(generation_id: str) -> Row:
    """The row with its contents. Its status takes into account how the task ended: one that was canceled, or whose
    worker died once too often, could not write it itself."""
    row = fetch_one("generation", {"id": generation_id})
    if row is None:
        raise GenerationNotFound(generation_id)
    return row


def _outside(value: dict[str, Any]) -> Jsonb:
    """What a provider has sent: never a reason to lose what was paid for."""
    try:
        jsonsafe.check(value)
    except jsonsafe.UnsafeJson as unsafe:
        value = {"omitted": str(unsafe)}
    return Jsonb(value, dumps=jsonsafe.dump)


def _owned(row: Row | None, task_id: str, epoch: int) -> Row:
    if row is None:
        raise LeaseLost(task_id, epoch)
    return row

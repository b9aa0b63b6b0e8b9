"""Generations: one row for each request to a media provider, whether it succeeded or not."""

from dataclasses import dataclass
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.tracebacks import hide_traceback_in
from state.database import Parameters, Row, fetch_one, retrying
from state.errors import GenerationNotFound, LeaseLost
from state.masking import mask_data
from state.media.contents import StoredBytes
from state.tasks.ids import new_content_id, new_generation_id


@dataclass(frozen=True, slots=True)
class Begun:
    """A task's generation. `content_ids` is not None if an earlier attempt has finished it and died before it was
    settled. `prompt` is the text, also if the request names a stored prompt; None if that does not exist."""

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
    """Creates the task's generation. A later attempt gets the same one, with its prompt."""
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
            "request": jsonsafe.dump(request),
        },
    )
    return Begun(**_require_owned(row, task_id, epoch))


@retrying
def finish_generation(
    worker: str, task_id: str, epoch: int, *, raw_response: dict[str, Any], contents: list[StoredBytes]
) -> list[str]:
    """Inserts the contents and completes the generation, in one statement. Returns the ids of the contents in order."""
    row = fetch_one(
        "generation_finish",
        {
            "worker": worker,
            "task_id": task_id,
            "epoch": epoch,
            "raw_response": _dump_foreign(mask_data(raw_response)),
            "ids": [new_content_id() for _ in contents],
            "hashes": [each.sha256 for each in contents],
            "sizes": [each.size for each in contents],
            "types": [each.media_type for each in contents],
        },
    )
    return list(_require_owned(row, task_id, epoch)["content_ids"])


@retrying
def fail_generation(
    worker: str, task_id: str, epoch: int, error: dict[str, Any], raw_response: dict[str, Any] | None
) -> None:
    """Stores the error. If its category is not permanent, another attempt may go on with the same generation."""
    raw = None if raw_response is None else _dump_foreign(mask_data(raw_response))
    parameters: Parameters = {
        "worker": worker,
        "task_id": task_id,
        "epoch": epoch,
        "error": _dump_foreign(mask_data(error)),
    }
    _require_owned(fetch_one("generation_fail", {**parameters, "raw_response": raw}), task_id, epoch)


@retrying
def get_generation(generation_id: str, *, caller: Caller = SYSTEM) -> Row:
    """Returns the row with its contents. Its status also follows from how the task ended: a task that was canceled, or
    whose last worker died, could not write it itself."""
    row = fetch_one("generation", {"id": generation_id, "scope": caller.tenant})
    if row is None:
        raise GenerationNotFound(generation_id)
    return row if caller.has_role("operator") else hide_traceback_in(row)


def _dump_foreign(value: dict[str, Any]) -> str:
    """Returns the JSON of data from a provider. Data that Postgres cannot store is left out: that must not lose a
    result that was paid for."""
    try:
        jsonsafe.check(value)
    except jsonsafe.UnsafeJson as unsafe:
        value = {"omitted": str(unsafe)}
    return jsonsafe.dump(value)


def _require_owned(row: Row | None, task_id: str, epoch: int) -> Row:
    if row is None:
        raise LeaseLost(task_id, epoch)
    return row

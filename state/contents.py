"""Generations and their contents: rows in Postgres, bytes under their hash in the data folder."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from state import jsonsafe
from state.database import Row, fetch_one, retrying
from state.errors import ContentNotFound, LeaseLost
from state.ids import new_content_id, new_generation_id
from state.settings import get_settings


@dataclass(frozen=True, slots=True)
class StoredBytes:
    sha256: str
    size: int
    media_type: str


def store_bytes(data: bytes, media_type: str) -> StoredBytes:
    """Published atomically: a reader finds all of it or nothing; the same bytes again change nothing."""
    digest = hashlib.sha256(data).hexdigest()
    final = path_of(digest)
    if not final.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=final.parent, prefix=".new-", delete=False) as part:
            try:
                part.write(data)
                part.flush()
                os.fsync(part.fileno())
                Path(part.name).rename(final)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    return StoredBytes(digest, len(data), media_type)


def path_of(sha256: str) -> Path:
    return get_settings().data_dir / "contents" / sha256[:2] / sha256


@retrying
def begin_generation(task_id: str, epoch: int, provider: str, action_type: str, request: dict[str, Any]) -> str:
    """The task's generation row; a later attempt goes on with the one that is there."""
    row = fetch_one(
        "generation_begin",
        {
            "id": new_generation_id(),
            "task_id": task_id,
            "epoch": epoch,
            "provider": provider,
            "action_type": action_type,
            "request": Jsonb(request, dumps=jsonsafe.dump),
        },
    )
    return _owned(row, task_id, epoch)["id"]  # type: ignore[no-any-return]


@retrying
def finish_generation(
    task_id: str, epoch: int, *, raw_response: dict[str, Any], contents: list[StoredBytes]
) -> list[str]:
    """Content rows and the generation's completion, in one statement. Answers the content ids in order."""
    row = fetch_one(
        "generation_finish",
        {
            "task_id": task_id,
            "epoch": epoch,
            "raw_response": Jsonb(raw_response, dumps=jsonsafe.dump),
            "ids": [new_content_id() for _ in contents],
            "hashes": [each.sha256 for each in contents],
            "sizes": [each.size for each in contents],
            "types": [each.media_type for each in contents],
        },
    )
    return list(_owned(row, task_id, epoch)["content_ids"])


@retrying
def fail_generation(task_id: str, epoch: int, error: dict[str, Any]) -> None:
    row = fetch_one("generation_fail", {"task_id": task_id, "epoch": epoch, "error": Jsonb(error, dumps=jsonsafe.dump)})
    _owned(row, task_id, epoch)


@retrying
def get_content(content_id: str) -> Row:
    row = fetch_one("content", {"id": content_id})
    if row is None:
        raise ContentNotFound(content_id)
    return row


def _owned(row: Row | None, task_id: str, epoch: int) -> Row:
    if row is None:
        raise LeaseLost(task_id, epoch)
    return row

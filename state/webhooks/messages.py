"""The messages that receivers get. A message says what does not change any more: each attempt, and each replay, sends
the same one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from state.database import Row, fetch_one, retrying
from state.transitions import FINISHED

MAX_RESULT = 256 * 1024  # bytes; a receiver asks the API for a larger result


@dataclass(frozen=True, slots=True)
class Message:
    id: str  # the same at each attempt and replay: receivers drop what they have seen
    url: str = field(repr=False)  # some receivers have a secret in it
    tenant: str | None
    type: str
    body: bytes = field(repr=False)


@retrying
def read_message(task_id: str, n: int) -> Message | None:
    """Returns the message of an event, None if there is no such event, or if its task has no webhook."""
    row = fetch_one("webhook_event", {"id": task_id, "n": n, "most": MAX_RESULT})
    if row is None:
        return None
    kind = f"task.{row['data']['to']}"
    body = {"type": kind, "timestamp": _to_text(row["at"]), "data": {"task_id": task_id, "n": n, **_describe(row)}}
    return Message(make_message_id(task_id, n), row["webhook_url"], row["tenant"], kind, to_json(body))


def make_message_id(task_id: str, n: int) -> str:
    return f"{task_id}_{n}"


def _describe(row: Row) -> dict[str, Any]:
    move: dict[str, Any] = row["data"]
    error = move.get("error")
    return {
        "status": move["to"],
        "from": move["from"],
        "reason": move.get("reason"),
        "attempt": move.get("attempt"),
        "available_at": move.get("available_at"),
        "error": {name: value for name, value in error.items() if name != "traceback"} if error else None,
        "result": row["result"],
        "result_omitted": row["result_omitted"],
        **{name: row[name] for name in ("actor", "queue", "tenant", "target", "workflow_id", "dedup_key", "priority")},
        "created_at": _to_text(row["created_at"]),
        "finished_at": _to_text(row["at"]) if move["to"] in FINISHED else None,
    }


def _to_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")

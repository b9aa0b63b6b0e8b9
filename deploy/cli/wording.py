"""A line of a task's history in words."""

from datetime import datetime
from typing import Any

from deploy.cli.output import error_line, percent_text, plain, plain_json, relative
from state import Event


def describe(event: Event) -> str:
    data = event.data
    match event.kind:
        case "status":
            return _move(data)
        case "progress":
            return f"{percent_text(data)} {plain(data.get('message') or '')}".strip()
        case "control":
            return f"{plain(data.get('request'))} {plain(data.get('stage'))}"
        case "token":
            return plain(data.get("text"))
        case _:
            return f"{plain(event.kind)} {plain_json(data, 500)}"


def _move(data: dict[str, Any]) -> str:
    before, after = data.get("from"), data.get("to")
    words = f"{before} -> {after}" if before else f"submitted, {after}"
    if data.get("reason"):
        words += f" ({plain(data['reason'])})"
    if data.get("error"):
        words += f": {error_line(data['error'])}"
    if data.get("available_at"):
        words += f"; next attempt {relative(datetime.fromisoformat(data['available_at']))}"
    return words

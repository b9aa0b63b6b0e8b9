"""Describes an event of a task's history in words."""

from datetime import datetime
from typing import Any

from deploy.cli.output import format_error, format_progress, format_relative, sanitize, sanitize_json
from taskclient import Event, Progress


def describe(event: Event) -> str:
    data = event.data
    match event.kind:
        case "status":
            return _describe_move(data)
        case "progress":
            return format_progress(Progress.model_validate(data))
        case "control":
            by = f" by {sanitize(data['by'])}" if data.get("by") else ""
            return f"{sanitize(data.get('request'))} {sanitize(data.get('stage'))}{by}"
        case "step":
            return _describe_step(data)
        case "queue":
            return _describe_queue(data)
        case "item":
            return _describe_item(data)
        case "token":
            return sanitize(data.get("text"))
        case _:
            return f"{sanitize(event.kind)} {sanitize_json(data, 500)}"


def _describe_step(data: dict[str, Any]) -> str:
    words = f"step {sanitize(data.get('step'))}: {data.get('from') or 'added'} -> {data.get('to')}"
    if data.get("by"):
        words += f" by {sanitize(data['by'])}"
    if data.get("note"):
        words += f" ({sanitize(data['note'])})"
    if data.get("error"):
        words += f": {format_error(data['error'])}"
    return words


def _describe_queue(data: dict[str, Any]) -> str:
    return f"queue {data.get('from') or 'created'} -> {data.get('to')} ({sanitize(data.get('reason'))})"


def _describe_item(data: dict[str, Any]) -> str:
    if "items" in data:
        return f"{data['items']} items added"
    words = f"item {sanitize(data.get('title'))}: {data.get('from')} -> {data.get('to')}"
    return f"{words} ({sanitize(data['reason'])})" if data.get("reason") else words


def _describe_move(data: dict[str, Any]) -> str:
    before, after = data.get("from"), data.get("to")
    words = f"{before} -> {after}" if before else f"submitted, {after}"
    if data.get("by"):
        words += f" by {sanitize(data['by'])}"
    if data.get("reason"):
        words += f" ({sanitize(data['reason'])})"
    if data.get("error"):
        words += f": {format_error(data['error'])}"
    if data.get("available_at"):
        words += f"; next attempt {format_relative(datetime.fromisoformat(data['available_at']))}"
    return words

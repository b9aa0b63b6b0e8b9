"""Time-ordered ids with a prefix that says what they name."""

import re
from datetime import datetime

import uuid_utils

_TASK_ID = re.compile(r"tq_[0-9a-f]{32}")
_GENERATION_ID = re.compile(r"gn_[0-9a-f]{32}")
_CONTENT_ID = re.compile(r"gc_[0-9a-f]{32}")
_AGENT_EVENT_ID = re.compile(r"ae_[0-9a-f]{32}")
_PROJECT_ID = re.compile(r"pj_[0-9a-f]{32}")
_ITEM_ID = re.compile(r"it_[0-9a-f]{32}")

_KEY_ID = re.compile(r"ck_[0-9a-f]{32}")
_WORKFLOW_ID = re.compile(r"wf_[0-9a-f]{32}")
_SCHEDULE_ID = re.compile(r"sc_[0-9a-f]{32}")


ID_PATTERNS = {
    "task_id": _TASK_ID.pattern,
    "generation_id": _GENERATION_ID.pattern,
    "content_id": _CONTENT_ID.pattern,
    "event_id": _AGENT_EVENT_ID.pattern,
    "project_id": _PROJECT_ID.pattern,
    "item_id": _ITEM_ID.pattern,
    "key_id": _KEY_ID.pattern,
    "workflow_id": _WORKFLOW_ID.pattern,
    "schedule_id": _SCHEDULE_ID.pattern,
}
"""By the name of the parameter that has such an id."""


def _new(prefix: str) -> str:
    return prefix + uuid_utils.uuid7().hex


def new_task_id() -> str:
    return _new("tq_")


def new_generation_id() -> str:
    return _new("gn_")


def new_content_id() -> str:
    return _new("gc_")


def new_project_id() -> str:
    return _new("pj_")


def new_item_id() -> str:
    return _new("it_")


def new_workflow_id() -> str:
    return _new("wf_")


def new_key_id() -> str:
    return _new("ck_")


def new_schedule_id() -> str:
    return _new("sc_")


def new_sandbox_id() -> str:
    return _new("sb_")


def is_task_id(text: str) -> bool:
    return _TASK_ID.fullmatch(text) is not None


def is_workflow_id(text: str) -> bool:
    return _WORKFLOW_ID.fullmatch(text) is not None


def is_schedule_id(text: str) -> bool:
    return _SCHEDULE_ID.fullmatch(text) is not None


def is_generation_id(text: str) -> bool:
    return _GENERATION_ID.fullmatch(text) is not None


def is_content_id(text: str) -> bool:
    return _CONTENT_ID.fullmatch(text) is not None


def is_project_id(text: str) -> bool:
    return _PROJECT_ID.fullmatch(text) is not None


def is_item_id(text: str) -> bool:
    return _ITEM_ID.fullmatch(text) is not None


def is_agent_event_id(text: str) -> bool:
    return _AGENT_EVENT_ID.fullmatch(text) is not None


def is_key_id(text: str) -> bool:
    return _KEY_ID.fullmatch(text) is not None


def first_task_id(moment: datetime) -> str:
    """Returns what sorts before the ids of all tasks that are created then or later. In SQL: callboard.first_id."""
    return f"tq_{max(0, round(moment.timestamp() * 1000)):012x}"

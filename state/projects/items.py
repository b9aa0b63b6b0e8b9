"""Creating projects, adding items to them, and putting failed items back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from pydantic_core import to_json

from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant, may_run_all, require_may_prioritize
from state.agents import catalog
from state.database import AnyConnection, Row, fetch, fetch_one, retrying, transaction
from state.database.notifier import notify_tasks
from state.errors import IllegalItemStatus, InvalidPayload, ItemNotFound, ProjectNotFound, UnknownAgent
from state.logs import log
from state.projects.reads import Item, Project, get_item, get_items_of_many, get_project
from state.tasks.admission import require_may_run_payload
from state.tasks.ids import new_item_id, new_project_id
from state.tasks.priorities import parse_priority

MOST_ITEMS = 1000  # that can be added at once
_LONGEST_TITLE = 500  # characters


@dataclass(slots=True)
class NewItem:
    """An item to add. A priority that is None is that of the agent."""

    title: str
    agent_name: str
    task_type: str
    input: dict[str, Any] = field(default_factory=dict)
    priority: int | str | None = None

    def to_row(self, place: int, caller: Caller = SYSTEM) -> Row:
        """Returns the row to insert, with a new id. `place`: in the list of items, from 1. Raises InvalidPayload, which
        names the field below `items.<index>`; Forbidden if the caller may not give the agent work."""
        at = f"items.{place - 1}"
        for name in ("title", "agent_name", "task_type"):  # from a file, they may be anything
            if not isinstance(getattr(self, name), str):
                raise _make_error(f"{at}.{name}", "must be text")
        if not (0 < len(self.title) <= _LONGEST_TITLE and self.title.isprintable()):
            raise _make_error(f"{at}.title", f"must be 1 to {_LONGEST_TITLE} printable characters")
        try:
            catalog.admit(self.agent_name, self.task_type, caller)
            request = catalog.check_input(self.agent_name, self.task_type, self.input, at=f"{at}.input")
        except UnknownAgent as unknown:
            raise _make_error(f"{at}.{unknown.field}", str(unknown)) from None
        gates = sorted(catalog.ask_gates(self.agent_name, self.task_type, request), key=attrgetter("key"))
        return {
            "id": new_item_id(),
            "place": place,
            "title": self.title,
            "agent_name": self.agent_name,
            "task_type": self.task_type,
            "input": self.input,
            "priority": self._find_priority(at, caller),
            "gates": [gate.key for gate in gates],
            "gate_limits": [gate.limit for gate in gates],
        }

    def _find_priority(self, at: str, caller: Caller) -> int:
        if self.priority is None:
            return catalog.get(self.agent_name, self.task_type).priority
        try:
            priority = parse_priority(self.priority)
        except ValueError as wrong:
            raise _make_error(f"{at}.priority", str(wrong)) from None
        require_may_prioritize(caller, priority)
        return priority


def create_project(
    name: str, *, tenant: str | None = None, items: Sequence[NewItem] = (), caller: Caller = SYSTEM
) -> Project:
    """Creates a project with these items, or nothing."""
    for field_name, text in (("name", name), ("tenant", tenant)):
        if text is not None and not (0 < len(text) <= 200 and text.isprintable()):
            raise _make_error(field_name, "must be 1 to 200 printable characters")
    if len(items) > MOST_ITEMS:
        raise _make_error("items", f"must be at most {MOST_ITEMS} items")
    tenant = choose_tenant(caller, tenant)
    rows = [item.to_row(place, caller) for place, item in enumerate(items, 1)]
    project_id = new_project_id()
    _insert_project({"id": project_id, "name": name, "tenant": tenant}, rows, caller)
    return get_project(project_id, caller=caller)


def add_items(project_id: str, items: Sequence[NewItem], *, caller: Caller = SYSTEM) -> list[Item]:
    """Adds items to the end of the project, all of them or none. A loop that is under way gets to them as well."""
    if not 0 < len(items) <= MOST_ITEMS:
        raise _make_error("items", f"must be 1 to {MOST_ITEMS} items")
    rows = [item.to_row(place, caller) for place, item in enumerate(items, 1)]
    if not _insert_items(project_id, rows, caller):
        raise ProjectNotFound(project_id)
    notify_tasks([project_id])
    return get_items_of_many(project_id, [row["id"] for row in rows], caller=caller)


def retry_item(project_id: str, item_id: str, *, caller: Caller = SYSTEM) -> Item:
    """Puts a failed item back: the next run can take it. Does not start the queue. Raises Forbidden if the caller could
    not have added the item."""
    if not may_run_all(caller):
        item = get_item(project_id, item_id, caller=caller)
        named = {"agent_name": item.agent_name, "task_type": item.task_type}
        require_may_run_payload(caller, "project_run", named)
    row = _put_back(project_id, item_id, caller)
    if row is None:
        get_project(project_id, caller=caller)
        raise ItemNotFound(project_id, item_id)
    if not row["moved"]:
        raise IllegalItemStatus(item_id, "retry", row["status"])
    log.info("item put back", project_id=project_id, item_id=item_id, by=caller.name)
    notify_tasks([project_id])
    return get_item(project_id, item_id, caller=caller)


@retrying
def _insert_project(project: Row, items: list[Row], caller: Caller) -> None:
    with transaction() as own:
        fetch("project_create", project, own)
        if items:
            _insert_items(project["id"], items, caller, conn=own)


@retrying
def _insert_items(project_id: str, rows: list[Row], caller: Caller, *, conn: AnyConnection | None = None) -> bool:
    asked = {"project_id": project_id, "items": to_json(rows).decode(), "scope": caller.tenant}
    [answer] = fetch("project_items_add", asked, conn)
    return bool(answer["found"])


@retrying
def _put_back(project_id: str, item_id: str, caller: Caller) -> Row | None:
    asked = {"project_id": project_id, "id": item_id, "scope": caller.tenant, "by": caller.name}
    return fetch_one("project_item_retry", asked)


def _make_error(name: str, message: str) -> InvalidPayload:
    return InvalidPayload(f"{name}: {message}", name)

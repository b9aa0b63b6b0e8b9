"""One of everything for a tenant, and requests about it, for every operation of the API."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from state import get_task, submit
from state.access.keys import create_key
from state.database import connect
from state.gates.operations import put_gate
from state.media.contents import store_bytes
from state.media.prompts import put_prompt
from state.projects.items import NewItem, create_project
from state.projects.reads import list_items
from state.schedules.changes import create_schedule
from state.tasks.ids import new_content_id, new_generation_id
from state.workflows.creation import create_workflow
from state.workflows.definition import Workflow
from taskapi.api.operation import Operation
from taskapi.resources.console import read_console

_WORK: dict[str, Any] = {"agent_name": "text", "task_type": "statistics", "input": {"text": "One. Two."}}
_GENERATION = """
    INSERT INTO callboard.generations (id, task_id, provider, action_type, status, request, created_at, updated_at)
    VALUES (%s, %s, 'local', 'txt2img', 'completed', '{}', callboard.now(), callboard.now())"""
_CONTENT = """
    INSERT INTO callboard.contents (id, generation_id, position, sha256, size, media_type, created_at)
    VALUES (%s, %s, 0, %s, %s, 'text/plain', callboard.now())"""
_AGENT_EVENT = """
    INSERT INTO callboard.agent_events (id, task_id, tenant, agent_name, task_type, text, input, job_id, created_at)
    VALUES (%s, %s, %s, 'text', 'summarize', 'text', '{}', %s, callboard.now())"""
_TENANT_PARAMETERS = frozenset(
    {"task_id", "project_id", "item_id", "workflow_id", "generation_id", "prompt_id", "event_id", "content_id"}
    | {"schedule_id"}
)


@dataclass(frozen=True, slots=True)
class Rows:
    tenant: str | None
    by_parameter: dict[str, str]

    def make_path(self, path: str) -> str:
        """Fills in the ids. A parameter that is not known here needs a row in `make_rows`."""
        values = {**self.by_parameter, "key": "tenant:a" if "/gates/" in path else "approval"}
        return re.sub(r"{(\w+)(?::path)?}", lambda found: values[found[1]], path)

    def make_body(self, operation: Operation) -> dict[str, Any] | None:
        """A body that passes the operation's model, so that the verb is reached."""
        if operation.method in ("GET", "DELETE"):
            return None
        of_path: dict[str, dict[str, Any]] = {
            "/tasks": {"actor": "anything", "payload": {}},
            "/tasks/summarize": {"content": "One. Two."},
            "/tasks/batch": {"tasks": [{"actor": "anything", "payload": {}}]},
            "/tasks/bulk": {"action": "cancel", "filter": {"actor": "anything"}, "dry_run": True},
            "/queues/dlq/redrive": {"actor": "anything", "dry_run": True},
            "/queues/dlq/dismiss": {"actor": "anything", "dry_run": True},
            "/projects": {"name": "another"},
            "/projects/{project_id}/items": {"items": [{"title": "more", **_WORK}]},
            "/projects/batch/run": {"project_ids": [self.by_parameter["project_id"]]},
            "/projects/batch/stop": {"project_ids": [self.by_parameter["project_id"]]},
            "/workflows": _describe_workflow(None),
            "/workflows/{workflow_id}/tasks": {
                "agent_name": "text",
                "task_type": "statistics",
                "payload": {"text": "One."},
                "priority": 2,
                "max_attempts": 1,
            },
            "/workflows/{workflow_id}/steps/{key}/approve": {"by": "somebody"},
            "/workflows/{workflow_id}/steps/{key}/reject": {"by": "somebody"},
            "/schedules": {"name": f"new for {self.tenant}", "cron": "0 0 1 1 *", "actor": "anything"},
            "/schedules/{schedule_id}": {"cron": "0 0 2 1 *"},
            "/providers/{name}/preview": {"action_type": "txt2img", "prompt": "a fox"},
            "/prompts/{prompt_id}": {"text": "another text"},
            "/keys": {"name": "created", "role": "reader"},
            "/stream-tokens": {"path": f"/api/v1/tasks/{self.by_parameter['task_id']}/stream"},
        }
        return of_path.get(operation.path.removeprefix("/api/v1"), {})


def is_about_a_row(path: str) -> bool:
    """Whether the path has an id of something that belongs to a tenant."""
    return not _TENANT_PARAMETERS.isdisjoint(re.findall(r"{(\w+)", path))


def make_rows(tenant: str | None, folder: Path) -> Rows:
    suffix = tenant or "none"
    task = submit("anything", {}, tenant=tenant, target=f"page-{suffix}", webhook_url="https://hooks.example.com/x")
    project = create_project(f"project {suffix}", tenant=tenant, items=[NewItem("item", **_WORK)])
    [item] = list_items(project.project_id)
    workflow = create_workflow(Workflow.model_validate(_describe_workflow(tenant)))
    put_prompt(f"prompt-{suffix}", "a text", tenant)
    schedule = create_schedule(f"schedule {suffix}", "0 0 1 1 *", "anything", tenant=tenant)
    put_gate("tenant:a", max_concurrent=5)
    generation_id, content_id, event_id = new_generation_id(), new_content_id(), new_content_id().replace("gc_", "ae_")
    stored = store_bytes(f"bytes of {suffix}".encode(), "text/plain", folder)
    with connect("rows") as connection:
        connection.execute(_GENERATION, [generation_id, task.task_id])
        connection.execute(_CONTENT, [content_id, generation_id, stored.sha256, stored.size])
        connection.execute(_AGENT_EVENT, [event_id, task.task_id, tenant, task.task_id])
    revocable, _ = create_key(f"revocable of {suffix}", "reader")
    assert get_task(task.task_id).tenant == tenant
    return Rows(
        tenant,
        {
            "task_id": task.task_id,
            "target": f"page-{suffix}",
            "project_id": project.project_id,
            "item_id": item.item_id,
            "workflow_id": workflow.workflow_id,
            "generation_id": generation_id,
            "content_id": content_id,
            "event_id": event_id,
            "prompt_id": f"prompt-{suffix}",
            "schedule_id": schedule.schedule_id,
            "key_id": revocable.id,
            "name": "local",
            "file": "swagger-ui.css",
            "digest": read_console().digest,
            "path": "app.js",
        },
    )


def _describe_workflow(tenant: str | None) -> dict[str, Any]:
    steps = [{"key": "first", **_WORK}, {"key": "approval", "kind": "approval"}]
    return {"name": "workflow", "steps": steps, **({} if tenant is None else {"tenant": tenant})}

"""Something of everything in a server's database, made over HTTP, so that requests find what they name."""

from dataclasses import dataclass, field
from typing import Any

from state.database import connect
from state.gates import Gate
from state.gates.declarations import declare
from taskapi.resources.console import read_console
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.running import RunningServer

API = "/api/v1"
STEP = {"key": "count", "agent_name": "text", "task_type": "statistics", "input": {"text": "A lighthouse."}}
APPROVAL = {"key": "check", "kind": "approval", "after": ["count"]}
ITEM = {"title": "Count", "agent_name": "text", "task_type": "statistics", "input": {"text": "A lighthouse."}}


@dataclass(slots=True)
class Contents:
    """Names of what exists, by the parameter of a path that takes them."""

    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, parameter: str, name: str) -> str:
        self.names.setdefault(parameter, []).append(name)
        return name


def make_contents(server: RunningServer) -> Contents:
    contents = Contents(
        {
            "name": ["language", "local"],
            "target": ["repo/a"],
            "key": ["provider:local", "count", "check"],
            "digest": [read_console().digest],
            "path": ["app.js", "css/base.css", "icon.svg"],
        }
    )

    def post(path: str, body: dict[str, Any], method: str = "POST") -> dict[str, Any]:
        answer = server.client.request(method, f"{API}{path}", json=body)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json()
        return made

    summary = {"content": "A lighthouse stands at the coast. Ships see its light."}
    for options in ({}, {"target": "repo/a"}, {"target": "repo/a", "delay_seconds": 60}, {"dedup_key": "today"}):
        contents.add("task_id", post("/tasks/summarize", {**summary, **options})["task_id"])
    project = contents.add("project_id", post("/projects", {"name": "Lighthouses", "items": [ITEM]})["project_id"])
    items = server.client.get(f"{API}/projects/{project}/items").json()["items"]
    contents.add("item_id", items[0]["item_id"])
    contents.add("task_id", post(f"/projects/{project}/run", {"mode": "single"})["run_id"])
    workflow = post("/workflows", {"name": "An article", "steps": [STEP, APPROVAL]})
    contents.add("workflow_id", workflow["workflow_id"])
    schedule = {"name": "every morning", "cron": "30 6 * * 1-5", "actor": "summarize", "payload": summary}
    contents.add("schedule_id", post("/schedules", schedule)["schedule_id"])
    post("/prompts/lighthouse", {"text": "A lighthouse at dusk"}, "PUT")
    contents.add("prompt_id", "lighthouse")
    declare([Gate("provider:local", 8, breaker=True)])
    with connect("fake worker") as connection:
        worker = FakeWorker(connection)
        worker.complete(worker.start("language"), {"summary": "A lighthouse."})
        worker.fail(worker.start("language"))
    return contents

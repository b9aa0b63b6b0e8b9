"""One of everything that can belong to a tenant."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from state import get_task, pause, submit
from state.database import Connection
from state.media.contents import store_bytes
from state.media.generations import begin_generation, fail_generation, finish_generation
from state.media.prompts import put_prompt
from state.projects.items import NewItem, add_items, create_project
from state.projects.queue import start_run
from state.projects.reads import list_items
from state.projects.runs import begin_run
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from state.workflows import Workflow, create_workflow
from tests.support.claims import BOOM, Claimer
from tests.support.observer import Observer

CRASH: dict[str, Any] = {**BOOM, "traceback": "Traceback: secret line"}
QUEUES = ["one", "agents", "language"]


@dataclass
class World:
    """Ids of what a tenant has."""

    tenant: str
    queued: str = ""
    running: str = ""
    paused: str = ""
    completed: str = ""
    dead: str = ""
    targeted: str = ""
    workflow: str = ""
    failed_workflow: str = ""
    project: str = ""
    failed_item: str = ""
    run: str = ""
    generation: str = ""
    content: str = ""
    agent_event: str = ""
    own: set[str] = field(default_factory=set)


class Builder:
    def __init__(self, connection: Connection, observer: Observer, folder: Path) -> None:
        self._connection = connection
        self._observer = observer
        self._folder = folder
        self._claim = Claimer(connection)

    def build(self, tenant: str) -> World:
        world = World(tenant)
        world.completed = self.end(self.claim(submit("quick", {}, tenant=tenant).task_id), "completed", result=1)
        world.dead = self.kill(submit("quick", {}, tenant=tenant, dedup_key="same").task_id)
        world.running = self.claim(submit("quick", {}, tenant=tenant).task_id).id
        self._build_generation(world)
        self._build_project(world)
        self._build_workflows(world)
        agent = {"agent_name": "free", "task_type": "run", "input": {"text": f"a whale of {tenant}"}}
        done = self.end(self.claim(submit("agent", agent, tenant=tenant).task_id), "completed", result={"text": "sea"})
        query = "SELECT id FROM callboard.agent_events WHERE task_id = %s"
        world.agent_event = self._observer.fetch_one(query, [done])["id"]
        world.queued = submit("quick", {}, tenant=tenant, delay_seconds=3600).task_id
        world.paused = submit("quick", {}, tenant=tenant).task_id
        pause(world.paused)
        world.targeted = submit("quick", {}, tenant=tenant, target="disk", delay_seconds=3600).task_id
        put_prompt("greeting", f"hello {tenant}", tenant)
        for table in ("tasks", "workflows", "projects"):
            rows = self._observer.execute(f"SELECT id FROM callboard.{table} WHERE tenant = %s", [tenant]).fetchall()
            world.own |= {row["id"] for row in rows}
        return world

    def claim(self, task_id: str) -> Claimed:
        others = "SELECT FROM callboard.tasks WHERE status = 'queued' AND id <> %s FOR UPDATE"
        with self._observer.transaction():
            locked = self._observer.execute(others, [task_id]).rowcount
            [claimed] = self._claim(locked + 1, queues=QUEUES)
        assert claimed.id == task_id
        return claimed

    def end(self, claimed: Claimed, outcome: Any, **fields: Any) -> str:
        assert leases.settle(self._connection, "w1", [Settlement(claimed.id, claimed.epoch, outcome, **fields)])
        return claimed.id

    def kill(self, task_id: str) -> str:
        return self.end(self.claim(task_id), "failed", error=CRASH)

    def _build_generation(self, world: World) -> None:
        request: dict[str, Any] = {"provider": "p", "action_type": "a", "prompt": "x", "prompt_id": None, "request": {}}
        claimed = self.claim(submit("quick", {}, tenant=world.tenant).task_id)
        world.generation = begin_generation("w1", claimed.id, claimed.epoch, **request).id
        stored = store_bytes(b"the same bytes", "text/plain", self._folder)
        [world.content] = finish_generation("w1", claimed.id, claimed.epoch, raw_response={}, contents=[stored])
        self.end(claimed, "completed")

    def fail_generation(self, tenant: str) -> str:
        request: dict[str, Any] = {"provider": "p", "action_type": "a", "prompt": "x", "prompt_id": None, "request": {}}
        claimed = self.claim(submit("quick", {}, tenant=tenant).task_id)
        begun = begin_generation("w1", claimed.id, claimed.epoch, **request)
        fail_generation("w1", claimed.id, claimed.epoch, CRASH, None)
        return begun.id

    def _build_project(self, world: World) -> None:
        world.project = create_project("p", tenant=world.tenant).project_id
        add_items(world.project, [NewItem("first", "free", "run"), NewItem("second", "free", "run")])
        claimed = self.claim(start_run(world.project, "single"))
        begin_run("w1", claimed.id, claimed.epoch)
        world.run = self.end(claimed, "failed", error=CRASH)
        world.failed_item = next(item.item_id for item in list_items(world.project) if item.status == "failed")

    def _build_workflows(self, world: World) -> None:
        approval = {"key": "look", "kind": "approval"}
        task = {"key": "work", "agent_name": "free", "task_type": "run"}
        running = {"name": "w", "tenant": world.tenant, "steps": [approval]}
        world.workflow = create_workflow(Workflow.model_validate(running)).workflow_id
        failing = create_workflow(
            Workflow.model_validate({**running, "steps": [task, {**approval, "after": ["work"]}]})
        )
        world.failed_workflow = failing.workflow_id
        died = self.kill(str(failing.steps[0].task_id))
        assert get_task(died).status == "dead"

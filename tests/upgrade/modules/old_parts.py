"""The verbs of the previous release for workflows, projects, agents, sandboxes and metrics, each called at least once.
Run by the code of that release, so written for it: it uses nothing that came later."""

import os

from old_desk import BOOM, Desk, check

import state
from state.agents import events as agent_events
from state.database import fetch, transaction
from state.metrics import days, measurement, reads
from state.projects import items, queue, runs
from state.projects import reads as project_reads
from state.projects.items import NewItem
from state.projects.sweep import sweep_runs
from state.sandboxes import rows as sandboxes
from state.workflows import approvals, control, creation, hints
from state.workflows import reads as workflow_reads
from state.workflows.definition import Workflow
from state.workflows.sweep import WorkflowSweep

STATISTICS = {"agent_name": "text", "task_type": "statistics", "input": {"text": "one two three"}}


class Parts(Desk):
    def flows(self) -> None:
        steps = [
            {"key": "first", **STATISTICS},
            {"key": "asked", "kind": "approval", "after": ["first"]},
            {"key": "last", **STATISTICS, "after": ["asked"]},
        ]
        workflow = creation.create_workflow(Workflow.model_validate({"name": self.name("flow"), "steps": steps}))
        its_id = workflow.workflow_id
        joined = state.submit("quick", {}, workflow_id=its_id)
        self.end(self.claim_one(joined.task_id))
        self.end_agent("failed", error=BOOM)
        check(workflow_reads.get_workflow(its_id).status == "failed", "a step has died")
        [dead] = [task.task_id for task in state.list_tasks(workflow_id=its_id, status="dead")]
        state.retry(dead)
        control.resume_workflow(its_id)
        self.end_agent(result={})
        approvals.approve(its_id, "asked", by="alice")
        creation.create_task(its_id, "text", "statistics", {"text": "more"})
        hints.announce_workflow(its_id)
        for _ in range(2):
            self.end_agent(result={})
        check(workflow_reads.get_workflow(its_id).status == "completed", "all steps are done")
        canceled = creation.create_workflow(Workflow.model_validate({"name": "other", "steps": steps}))
        control.cancel_workflow(canceled.workflow_id)
        check(len(workflow_reads.get_workflows_of_many([its_id, canceled.workflow_id])) == 2, "many at once")
        check(workflow_reads.list_workflows(limit=2), "listed")
        WorkflowSweep().take_turn()
        fetch("workflow_advance", {"id": its_id})

    def works_off(self) -> None:
        new = [NewItem(title=f"item {n}", **STATISTICS) for n in range(3)]
        project = items.create_project(self.name("project"), items=new[:2])
        its_id = project.project_id
        items.add_items(its_id, new[2:])
        queue.start_run(its_id, "loop")
        claimed = self.claim_from("agents")
        check(runs.begin_run(self.me.id, claimed.id, claimed.epoch) is not None, "an item")
        self.end(claimed, result={})  # the loop goes on with the next item
        claimed = self.claim_from("agents")
        item = runs.begin_run(self.me.id, claimed.id, claimed.epoch)
        check(item is not None, "another item")
        queue.stop(its_id)
        self.end(claimed, "failed", error=BOOM)
        state.dismiss(claimed.id)
        items.retry_item(its_id, item.item_id)
        run_id = queue.start_run(its_id, "single")
        queue.begin_force_stop(its_id)
        check(queue.look_after_force_stop(its_id, run_id).success, "stopped")
        check(project_reads.get_statistics(its_id).runs, "statistics")
        check(len(project_reads.list_items(its_id)) == 3, "items")
        check(len(project_reads.list_runs(its_id)) == 3, "runs")
        check(project_reads.list_projects(limit=1), "projects")
        sweep_runs()
        self.take_embedding_jobs()

    def remembers(self) -> None:
        """What an agent has done becomes an event, which is embedded and found again."""
        task = state.submit("agent", STATISTICS)
        self.end_agent(result={"words": 3})
        [row] = fetch("agent_events_by_text", {
            "tenant": None, "any_tenant": True, "agent_name": None, "task_type": None, "text": "three", "limit": 1,
            "scope": None,
        })  # fmt: skip
        event = agent_events.get_event(row["event_id"])
        check(event["task_id"], f"an event of {task.task_id}")
        check(agent_events.get_event_text(row["event_id"]), "its text")
        vector = [1.0] + [0.0] * 255
        job = self.claim_from("language")
        with transaction() as own:
            embedded = job.payload["event_id"]
            agent_events.store_embedding(*self.owner(job), embedded, vector, "model", own)
        self.end(job, result={})
        query = agent_events.Query(text="three", vector=vector, model="model", reason=None)
        agent_events.find(query, any_tenant=True)
        agent_events.explain_missing_vectors()
        self.take_embedding_jobs()

    def confines(self) -> None:
        task = state.submit("quick", {})
        claimed = self.claim_one(task.task_id)
        its_id = self.name("sandbox")
        sandboxes.open_sandbox(
            its_id, task_id=claimed.id, epoch=claimed.epoch, worker=self.me.id, kind="process", pid=os.getpid(),
            start_ticks=None, workspace="/tmp", container=None, groups=[],
        )  # fmt: skip
        check(len(sandboxes.list_unended(claimed.id)) == 1, "a sandbox")
        sandboxes.list_on_this_host()
        sandboxes.close_sandbox(its_id, 1)
        self.end(claimed)

    def measures(self) -> None:
        measured = measurement.Measurement()
        measured.take_turn()
        measurement.measure_tasks(60)
        measurement._remove_old()
        measurement._add_heartbeats(measurement.Heartbeats(measurement._sample()["minute"], 1, 0.5, 0.5))
        reads.list_metrics(limit=1)
        days.get_day()

    # Used by these.

    def end_agent(self, outcome: str = "completed", **options: object) -> None:
        self.end(self.claim_from("agents"), outcome, **options)

    def take_embedding_jobs(self) -> None:
        """Leaves nothing in the queue."""
        while (job := self.claim_from("language", wait=False)) is not None:
            self.end(job, result={})

"""The verbs of the previous release for what is outside of the tasks themselves: keys, schedules, webhooks, numbers for
monitoring. Run by the code of that release, so written for it: it uses nothing that came later."""

from old_desk import BOOM, QUEUE, check
from old_parts import STATISTICS, Parts

import state
from state.access import keys
from state.access.caller import Caller
from state.database import connect, fetch, transaction
from state.installation import read_installation
from state.metrics.snapshot import take_snapshot
from state.projects import items, queue, runs
from state.schedules import changes, declarations, starts
from state.schedules import reads as schedules
from state.schedules.definition import Definition
from state.tasks import targets
from state.tasks.traces import read_traceparent
from state.webhooks import deliveries, messages, secrets
from state.workers.waits import read_waits
from state.workflows import creation
from state.workflows import reads as workflow_reads
from state.workflows.definition import Workflow

SUBMITTER = Caller("submitter", name="somebody")


class Outside(Parts):
    def admits(self) -> None:
        """Keys, and what a submitter may let run."""
        check(isinstance(keys.read_keys().configured, bool), "keys")
        operator, _ = keys.create_key(self.name("operator"), "operator")
        reader, _ = keys.create_key(self.name("reader"), "reader", tenant="acme", rate_limit=5)
        keys.record_key_uses({reader.id: 1.0})
        check({operator.id, reader.id} <= {each.id for each in keys.list_keys()}, "listed")
        check(reader.id in keys.read_keys().by_id, "valid")
        for each in (reader, operator, operator):
            keys.revoke_key(each.id, last=True)
        fetch("keys_exist", {})
        project = items.create_project(self.name("asked"), items=[items.NewItem(title="one", **STATISTICS)])
        queue.start_run(project.project_id, "single", caller=SUBMITTER)
        claimed = self.claim_from("agents")
        runs.begin_run(self.me.id, claimed.id, claimed.epoch)
        self.end(claimed, "failed", error=BOOM)
        state.retry(claimed.id, caller=SUBMITTER)
        self.end(self.claim_from("agents"), result={})
        self.take_embedding_jobs()

    def recurs(self) -> None:
        wanted = changes.create_schedule(self.name("tick"), "* * * * *", "quick", {"n": 1})
        its_id = wanted.schedule_id
        changes.change_schedule(its_id, priority=1)
        changes.pause_schedule(its_id)
        changes.resume_schedule(its_id)
        with transaction() as own:  # as if its time had come
            own.execute(
                "UPDATE callboard.schedules SET next_at = date_trunc('minute', callboard.now()) WHERE id = %s", [its_id]
            )
        check(starts.start_due() == 1, "one schedule is due")
        self.end(self.claim_from(QUEUE))
        run = starts.start_schedule(its_id)
        self.end(self.claim_one(str(run.task_id)))
        check(len(schedules.list_runs(its_id)) == 2, "both runs")
        check(its_id in {each.schedule_id for each in schedules.list_schedules()}, "listed")
        changes.delete_schedule(its_id)
        for cron in ("1 1 1 1 *", "2 1 1 1 *"):  # declared, and declared otherwise by the next deploy
            check(declarations._write(Definition(self.name("declared"), cron, "quick", {})), "declared")
        [row] = fetch("schedule_declared", {"name": self.name("declared")})
        changes.delete_schedule(row["id"])

    def reports(self) -> None:
        """Webhooks, and the trace of a task."""
        task = state.submit("quick", {}, webhook_url="https://example.com/hook")
        claimed = self.claim_one(task.task_id)
        read_waits(self.desk, [(claimed.id, claimed.epoch)])
        check(read_traceparent(task.task_id) is None, "no trace")
        self.end(claimed)
        [sent] = deliveries.list_deliveries(task.task_id)
        check(messages.read_message(task.task_id, sent.n) is not None, "a message")
        delivery = self.claim_from("webhooks")
        check(delivery.id == sent.delivery_id, "its delivery")
        self.end(delivery)
        [again] = deliveries.replay(task.task_id)
        self.end(self.claim_from("webhooks"))
        check(again.n == sent.n, "sent again")
        secrets.show_secret(self.name("tenant"))
        secrets.rotate_secret(self.name("tenant"))
        check(len(secrets.list_secrets(self.name("tenant"))) == 2, "secrets")

    def counts(self) -> None:
        held = state.submit("quick", {}, target=self.name("counted"))
        snapshot = take_snapshot()
        check(snapshot.tasks["queued"] >= 1, "one is queued")
        check(self.name("counted") in {each.target for each in targets.list_targets()}, "targets")
        self.end(self.claim_one(held.task_id))
        steps = [{"key": "only", "kind": "approval"}]
        workflow = creation.create_workflow(Workflow.model_validate({"name": self.name("open"), "steps": steps}))
        check(workflow_reads.get_followed_workflows([workflow.workflow_id]), "followed")
        with connect("doctor"):
            read_installation()

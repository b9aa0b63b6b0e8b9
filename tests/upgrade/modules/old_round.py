"""The verbs of the previous release's `state`, each called at least once. Run by the code of that release, so written
for it: it uses nothing that came later."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from old_desk import BOOM, QUEUE, check
from old_outside import Outside

import state
from state import NewTask, get_task, submit, submit_many
from state.database import AnyConnection, connect, fetch, transaction
from state.database.listener import WakePipe, require_writable
from state.database.notifier import flush_hints, notify_tasks
from state.gates import Gate, Rate
from state.gates.declarations import declare
from state.gates.operations import get_gate, list_gates, put_gate
from state.gates.waking import sweep_lines
from state.maintenance import losses, maintainer, sweep
from state.maintenance.housekeeping import Housekeeping
from state.maintenance.silence import LastSeen
from state.media import contents, generations, prompts
from state.schema import version
from state.tasks import events, idempotency, queues, reads, targets
from state.workers import durations, health, leases, registry
from state.workers.identity import Identity
from state.workers.leases import Report, Settlement
from state.workers.plain_queue import PlainEnd, PlainQueue
from state.workers.pulse import send_pulse


class Round(Outside):
    # Each of these leaves nothing in the queue.

    def accepts(self) -> None:
        new = [NewTask("quick", {"n": n}) for n in range(3)]
        keyed = NewTask("quick", {}, dedup_key=self.name("many"))
        ids = submit_many(new) + submit_many([*new, keyed])
        first = submit("quick", {}, dedup_key=self.name("key"))
        again = submit("quick", {}, dedup_key=self.name("key"))
        check((again.task_id, again.deduplicated) == (first.task_id, True), "deduplicated")
        with transaction() as own:
            inside = submit("quick", {}, conn=own)
        later = submit("quick", {}, delay_seconds=3600)
        ids += [first.task_id, inside.task_id, later.task_id]

        def act(conn: AnyConnection) -> dict[str, Any]:
            return {"id": submit("quick", {}, conn=conn).task_id}

        answers = [idempotency.run_once(self.name("once"), "tasks", None, b"{}", act) for _ in range(2)]
        check([replayed for _, replayed in answers] == [False, True], "the same answer twice")
        check(answers[0][0] == answers[1][0], "one task")
        ids.append(answers[0][0]["id"])
        for each in ids:
            state.cancel(each)
            self.status(each, "canceled")
        state.delete(ids[0])
        check(fetch("any_task", {"ids": ids}), "found after a lost answer")
        done = fetch("verb_done", {"ids": ids, "evidence": ['{"to": "canceled"}'], "within": 60, "scope": None})
        check(len(done) == len(set(ids)), "canceled, after a lost answer")

    def runs(self) -> None:
        task = submit("quick", {"gates": {self.name("provider:runs"): 1}}, tenant="acme", target=self.name("target"))
        claimed = self.claim_one(task.task_id)
        self.status(task.task_id, "running")
        pulse = send_pulse(self.desk, self.me.id, [QUEUE], 10)
        check(claimed.id in {lease.id for lease in pulse.leases}, "the pulse lists the lease")
        lines = [{"kind": "token", "data": {"text": text}} for text in "ab"]
        for number in (1, 1, 2):  # a report that is sent again is written once
            report = Report(claimed.id, claimed.epoch, number, {"percent": 5}, tokens=3, cost=0.5, events=lines)
            check(leases.report(self.desk, self.me.id, [report]) == {(claimed.id, claimed.epoch)}, "report")
        check(leases.save(*self.owner(claimed), {"page": 1}) == {"page": 1}, "save")
        leases.require_owned(*self.owner(claimed))
        settlement = Settlement(claimed.id, claimed.epoch, "completed", {"fine": True})
        self.end(claimed, result={"fine": True})
        check(leases.was_settled(self.me.id, settlement), "settled before")
        done = self.status(task.task_id, "completed")
        check((done.result, done.usage["tokens"]) == ({"fine": True}, 6), f"{done}")
        history = state.get_events(task.task_id)
        check([event.n for event in history] == list(range(1, done.last_event + 1)), "no gap")
        check(sum(event.kind == "token" for event in history) == 4, "every token")
        check(events.get_events_of_many({task.task_id: 0})[task.task_id] == history, "the same history")
        check(len(state.get_attempts(task.task_id)) == 1, "attempts")
        released = submit("quick", {})
        self.end(self.claim_one(released.task_id), "released")
        check(self.status(released.task_id, "queued").attempt == 0, "the attempt was given back")
        regated = leases.regate(*self.owner(self.claim_one(released.task_id)), [Gate(self.name("provider:other"), 1)])
        check(regated["moved"], "put back with other gates")
        self.end(self.claim_one(released.task_id))

    def stops(self) -> None:
        task = submit("quick", {})
        state.pause(task.task_id)
        self.status(task.task_id, "paused")
        state.resume(task.task_id)
        claimed = self.claim_one(task.task_id)
        state.pause(task.task_id)
        state.cancel(task.task_id, force=True)
        held = send_pulse(self.desk, self.me.id, [QUEUE], 10).leases
        asked = {lease.id: lease.cancel_requested for lease in held}
        check(asked[task.task_id] == "force", f"asked: {asked}")
        self.end(claimed, "failed", error=BOOM, retry_seconds=1)
        self.status(task.task_id, "canceled")

    def dies(self) -> None:
        retried = submit("quick", {})
        self.end(self.claim_one(retried.task_id), "failed", error=BOOM, retry_seconds=3600)
        self.status(retried.task_id, "scheduled")
        state.retry(retried.task_id)
        check(leases.get_retry_depth([QUEUE], 10) == 1, "one in the retry lane")
        self.end(self.claim_one(retried.task_id))
        edited, resumed, dismissed, redriven = (self.kill() for _ in range(4))
        check({redriven, dismissed} <= {task.task_id for task in state.list_dead_letters(actor="quick")}, "listed")
        state.retry(edited, {"gates": {self.name("provider:edited"): 1}})
        self.end(self.claim_one(edited))
        state.resume(resumed)
        self.end(self.claim_one(resumed))
        state.dismiss(dismissed)
        self.status(dismissed, "canceled")
        check(state.redrive(actor="quick", dry_run=True).tasks == 1, "one to redrive")
        check(state.redrive(actor="quick").tasks == 1, "redriven")
        self.end(self.claim_one(redriven), "failed", error=BOOM)
        check(state.dismiss_many(actor="quick").tasks == 1, "dismissed")

    def waits(self) -> None:
        key, word = self.name("provider:narrow"), self.name("narrow")
        first, second = (submit("quick", {"gates": {key: 1}}, tenant=word, target=word) for _ in range(2))
        claimed = self.claim_one(first.task_id)
        for _ in range(200):
            check(self.claim(4) == [], "the second one has to wait")
            if get_task(second.task_id).status == "waiting":
                break
        waiting = self.status(second.task_id, "waiting")
        check(waiting.waiting is not None and waiting.waiting["reason"], "why it waits")
        check([task.task_id for task in targets.list_target_tasks(word, tenant=word)], "tasks of the target")
        check({task.status for task in reads.list_tasks(tenant=word)} == {"running", "waiting"}, "listed")
        check(len(reads.get_tasks_of_many([first.task_id, second.task_id])) == 2, "many at once")
        self.end(claimed)
        self.end(self.claim_one(second.task_id, freed=[key]))
        put_gate(key, max_concurrent=2, rate_count=5, rate_seconds=60, breaker_threshold=0.5)
        put_gate(key, paused=True, closed_until=datetime.now(UTC) + timedelta(hours=1))
        check(get_gate(key)["paused"], "paused")
        check(key in {gate["key"] for gate in list_gates()}, "listed")
        put_gate(key, paused=False, closed_until=None)
        third = submit("quick", {"gates": {key: 1}})
        claimed = self.claim_one(third.task_id)
        leases.close_gates(self.desk, {third.task_id: 0.01})
        self.end(claimed, "failed", error={**BOOM, "type": "ServiceUnavailable"})
        state.dismiss(third.task_id)
        declare([Gate(self.name("provider:declared"), 3, rate=Rate(5, 60))])
        queues.pause_queue(QUEUE)
        fourth = submit("quick", {})
        check(self.claim(4) == [], "the queue is paused")
        queues.resume_queue(QUEUE)
        self.end(self.claim_one(fourth.task_id))

    def survives(self) -> None:
        """Recovers the tasks of workers whose processes are gone: one has left the end of its task."""
        there = (self.me.host, self.me.boot_id, self.me.pid_namespace)
        gone, silent = (Identity(self.name(word), *there, 2**22 + 1, 1) for word in ("gone", "silent"))
        for each in (gone, silent):
            registry.register(each, [QUEUE], 1)
        check({gone.id, silent.id} <= {row["id"] for row in registry.list_workers()}, "registered")
        task = submit("quick", {"gates": {self.name("provider:gone"): 1}})
        self.claim_one(task.task_id, worker=gone.id)
        check(gone.id in registry.find_dead_siblings(self.me), "it is dead")
        state.requeue_orphaned()
        check(self.status(task.task_id, "queued").lane == "retry", "requeued")
        self.end(self.claim_one(task.task_id))
        registry.register(silent, [QUEUE], 1)
        left = self.claim_one(submit("quick", {}).task_id, worker=silent.id)
        end = {"report": None, "settlement": {"outcome": "completed", "result": 7}}
        losses.set_on_loss(self.desk, silent.id, {(left.id, left.epoch): end})
        losses.recover([silent.id])
        check(self.status(left.id, "completed").result == 7, "the end that it has left")
        losses.sweep_silent({silent.id: LastSeen(None, None)})
        registry.mark_stopped([gone.id, silent.id])

    def keeps_house(self) -> None:
        check(maintainer.become_maintainer(self.me.id), "elected")
        expired = submit("quick", {}, max_age_seconds=0)
        due = submit("quick", {}, delay_seconds=0.001)
        house = Housekeeping()
        while get_task(due.task_id).status == "scheduled":
            house.do_turn()
        sweep_lines()
        sweep.sweep_unknown()
        sweep.remove_leftovers()
        self.status(expired.task_id, "dead")
        state.dismiss(expired.task_id)
        self.end(self.claim_one(due.task_id))
        maintainer.resign(self.me.id)

    def consumes(self) -> None:
        """Messages of plain Dramatiq actors."""
        queue, ids = self.name("plain"), [str(uuid4()) for _ in range(2)]
        with connect("plain") as own:
            for each in ids:
                own.execute(
                    "INSERT INTO dramatiq.queue (message_id, queue_name, state, message) "
                    "VALUES (%s, %s, 'queued', '{\"options\": {}}')",
                    [each, queue],
                )
        pipe = WakePipe()
        plain = PlainQueue(queue, lambda names: None, pipe, delayed=False)
        plain.connect([])
        check({each.id for each in plain.exchange([], 2, [])} == set(ids), "both messages")
        plain.exchange([PlainEnd(ids[0], "done", None)], 0, ids[1:])
        plain.requeue(ids[1:])
        plain.requeue_abandoned([])
        [again] = plain.exchange([], 1, [])
        plain.exchange([PlainEnd(again.id, "rejected", None)], 0, [])
        plain.exchange([], 1, [])
        plain.close()
        delayed = PlainQueue(queue, lambda names: None, pipe, delayed=True)
        delayed.connect([])
        check(delayed.exchange([], 1, []) == [], "nothing is delayed")
        delayed.close()
        pipe.close()

    def generates(self) -> None:
        prompts.put_prompt(self.name("prompt"), "a lighthouse")
        check(prompts.get_prompt(self.name("prompt"))["text"] == "a lighthouse", "prompt")
        for fails in (False, True):
            task = submit("quick", {})
            claimed = self.claim_one(task.task_id)
            ours = self.owner(claimed)
            begun = generations.begin_generation(
                *ours, provider="local", action_type="txt2img", prompt=None, prompt_id=self.name("prompt"), request={}
            )
            if fails:
                generations.fail_generation(*ours, error=BOOM, raw_response=None)
            else:
                stored = contents.StoredBytes("0" * 64, 1, "image/png")
                [content] = generations.finish_generation(*ours, raw_response={}, contents=[stored])
                check(contents.get_content(content)["size"] == 1, "content")
            self.end(claimed)
            check(generations.get_generation(begun.id)["prompt"] == "a lighthouse", "generation")

    def tells(self) -> None:
        version.require_current_schema()  # called by its /readyz and its workers
        registry.register(self.me, [QUEUE], 4, ["quick"])  # another identity of this process has declared it dead
        check(health.read_system_health().workers == 1, "health")
        check(queues.get_queue_status()["queues"]["dlq"] == 0, "nothing is left dead")
        durations.record_durations({"quick": 0.5})
        require_writable(self.desk)
        notify_tasks([self.name("task")])
        flush_hints()

    def run(self) -> None:
        registry.register(self.me, [QUEUE], 4, ["quick"])
        for verb in (
            self.accepts, self.runs, self.stops, self.dies, self.waits, self.survives, self.keeps_house, self.consumes,
            self.generates, self.flows, self.works_off, self.remembers, self.confines, self.measures, self.admits,
            self.recurs, self.reports, self.counts, self.tells,
        ):  # fmt: skip
            verb()
        registry.mark_stopped([self.me.id])

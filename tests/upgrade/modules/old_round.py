"""The verbs of the previous release's `state`, each called at least once. Run by the code of that release, so written
for it: it uses nothing that came later."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from pydantic import BaseModel
from state.claims import ClaimRequest, Report, Settlement
from state.submission import NewTask, submit, submit_many

import state
from state import (
    bell,
    claims,
    contents,
    gates,
    generations,
    idempotency,
    pace,
    prompts,
    queues,
    schema,
    sweep,
    targets,
    tasks,
    vitals,
    workers,
)
from state.database import connection
from state.gates import Gate
from state.workers import Identity

BOOM = {"type": "Boom", "message": "no luck", "category": "unknown", "details": {}, "traceback": None}
QUEUE = "verbs"


class Payload(BaseModel, extra="allow"):
    gates: dict[str, int] = {}


def gates_of(payload: Payload) -> list[Gate]:
    return [Gate(key, limit) for key, limit in payload.gates.items()]


def check(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(what)


class Round:
    """Uses names of its own, so that one round does not find tasks of another."""

    def __init__(self, number: int, desk: Any) -> None:
        self.number = number
        self.desk = desk
        self.me = Identity.of_this_process()
        self.claims = 0

    def name(self, word: str) -> str:
        return f"{word}-{self.number}"

    def status(self, task_id: str, *expected: str) -> tasks.Task:
        task = tasks.get_task(task_id)
        check(task.status in expected, f"{task_id} is {task.status}, expected {expected}")
        return task

    def claim(self, free: int = 1, worker: str | None = None, freed: list[str] | None = None) -> list[claims.Claimed]:
        self.claims += 1
        request = ClaimRequest(
            worker=worker or self.me.id, claim_number=self.claims, queues=[QUEUE], free=free, ahead=0,
            short_actors=[], retry_share=0.3, freed_gates=freed or [])  # fmt: skip
        answer = claims.claim(self.desk, request)
        gates.wake(answer.to_wake)
        return answer.tasks

    def claim_one(self, task_id: str, **options: Any) -> claims.Claimed:
        for _ in range(200):
            for claimed in self.claim(1, **options):
                check(claimed.id == task_id, f"claimed {claimed.id}, expected {task_id}")
                return claimed
        raise AssertionError(f"{task_id} could not be claimed: {tasks.get_task(task_id)}")

    def end(self, claimed: claims.Claimed, outcome: Any = "completed", **options: Any) -> None:
        [row] = claims.settle(self.desk, [Settlement(claimed.id, claimed.epoch, outcome, **options)])
        gates.wake(row["gates"])

    def kill(self, **options: Any) -> str:
        """Makes a dead letter."""
        task = submit("quick", {}, **options)
        self.end(self.claim_one(task.task_id), "failed", error=BOOM)
        self.status(task.task_id, "dead")
        return task.task_id

    # Each of these leaves nothing in the queue.

    def accepts(self) -> None:
        new = [NewTask("quick", {"n": n}) for n in range(3)]
        keyed = NewTask("quick", {}, dedup_key=self.name("many"))
        ids = submit_many(new) + submit_many([*new, keyed])
        first = submit("quick", {}, dedup_key=self.name("key"))
        again = submit("quick", {}, dedup_key=self.name("key"))
        check((again.task_id, again.deduplicated) == (first.task_id, True), "deduplicated")
        with connection() as own, own.transaction():
            inside = submit("quick", {}, conn=own)
        later = submit("quick", {}, delay_seconds=3600)
        ids += [first.task_id, inside.task_id, later.task_id]

        def act(conn: psycopg.Connection[Any]) -> dict[str, Any]:
            return {"id": submit("quick", {}, conn=conn).task_id}

        answers = [idempotency.once(self.name("once"), "tasks", None, b"{}", act) for _ in range(2)]
        check([replayed for _, replayed in answers] == [False, True], "the same answer twice")
        check(answers[0][0] == answers[1][0], "one task")
        ids.append(answers[0][0]["id"])
        for each in ids:
            state.cancel(each)
            self.status(each, "canceled")
        state.delete(ids[0])

    def runs(self) -> None:
        task = submit("quick", {"gates": {self.name("provider:runs"): 1}}, tenant="acme", target=self.name("target"))
        claimed = self.claim_one(task.task_id)
        self.status(task.task_id, "running")
        held = {lease.id for lease in claims.pulse(self.desk, self.me.id)}
        check(claimed.id in held, "the pulse lists the lease")
        lines = [{"kind": "token", "data": {"text": text}} for text in "ab"]
        for number in (1, 1, 2):  # a report that is sent again is written once
            report = Report(claimed.id, claimed.epoch, number, {"percent": 5}, tokens=3, cost=0.5, events=lines)
            check(claims.report(self.desk, [report]) == {(claimed.id, claimed.epoch)}, "report")
        check(claims.save(claimed.id, claimed.epoch, {"page": 1}) == {"page": 1}, "save")
        claims.require_owned(claimed.id, claimed.epoch)
        settlement = Settlement(claimed.id, claimed.epoch, "completed", {"fine": True})
        self.end(claimed, result={"fine": True})
        check(claims.was_settled(self.me.id, settlement), "settled before")
        done = self.status(task.task_id, "completed")
        check((done.result, done.usage["tokens"]) == ({"fine": True}, 6), f"{done}")
        history = state.get_events(task.task_id)
        check([event.n for event in history] == list(range(1, done.last_event + 1)), "no gap")
        check(sum(event.kind == "token" for event in history) == 4, "every token")
        check(state.events.get_events_of_many({task.task_id: 0})[task.task_id] == history, "the same history")
        check(len(state.get_attempts(task.task_id)) == 1, "attempts")
        released = submit("quick", {})
        self.end(self.claim_one(released.task_id), "released")
        check(self.status(released.task_id, "queued").attempt == 0, "the attempt was given back")
        self.end(self.claim_one(released.task_id))

    def stops(self) -> None:
        task = submit("quick", {})
        state.pause(task.task_id)
        self.status(task.task_id, "paused")
        state.resume(task.task_id)
        claimed = self.claim_one(task.task_id)
        state.pause(task.task_id)
        state.cancel(task.task_id, force=True)
        asked = {lease.id: lease.cancel_requested for lease in claims.pulse(self.desk, self.me.id)}
        check(asked[task.task_id] == "force", f"asked: {asked}")
        self.end(claimed, "failed", error=BOOM, retry_seconds=1)
        self.status(task.task_id, "canceled")

    def dies(self) -> None:
        retried = submit("quick", {})
        self.end(self.claim_one(retried.task_id), "failed", error=BOOM, retry_seconds=3600)
        self.status(retried.task_id, "scheduled")
        state.retry(retried.task_id)
        check(claims.retry_depth([QUEUE], 10) == 1, "one in the retry lane")
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
            if tasks.get_task(second.task_id).status == "waiting":
                break
        waiting = self.status(second.task_id, "waiting")
        check(waiting.waiting is not None and waiting.waiting["reason"], "why it waits")
        check([task.task_id for task in targets.list_target_tasks(word, tenant=word)], "tasks of the target")
        check({task.status for task in tasks.list_tasks(tenant=word)} == {"running", "waiting"}, "listed")
        check(len(tasks.get_tasks_of_many([first.task_id, second.task_id])) == 2, "many at once")
        self.end(claimed)
        self.end(self.claim_one(second.task_id, freed=[key]))
        gates.put_gate(key, max_concurrent=2, rate_count=5, rate_seconds=60, breaker_threshold=0.5)
        gates.put_gate(key, paused=True, closed_until=datetime.now(UTC) + timedelta(hours=1))
        check(gates.get_gate(key)["paused"], "paused")
        check(key in {gate["key"] for gate in gates.list_gates()}, "listed")
        gates.put_gate(key, paused=False, closed_until=None)
        third = submit("quick", {"gates": {key: 1}})
        claimed = self.claim_one(third.task_id)
        gates.heed_retry_after(third.task_id, 0.01)
        self.end(claimed, "failed", error={**BOOM, "type": "ServiceUnavailable"})
        state.dismiss(third.task_id)
        gates.declare([Gate(self.name("provider:declared"), 3, breaker=True)])
        queues.pause_queue(QUEUE)
        fourth = submit("quick", {})
        check(self.claim(4) == [], "the queue is paused")
        queues.resume_queue(QUEUE)
        self.end(self.claim_one(fourth.task_id))

    def survives(self) -> None:
        """Recovers the task of a worker whose process is gone."""
        gone = Identity(self.name("gone"), self.me.host, self.me.boot_id, self.me.pid_namespace, 2**22 + 1, 1.0)
        workers.register(gone, [QUEUE], 1)
        check(gone.id in {row["id"] for row in workers.list_workers()}, "registered")
        task = submit("quick", {"gates": {self.name("provider:gone"): 1}})
        self.claim_one(task.task_id, worker=gone.id)
        check(gone.id in workers.dead_neighbors(self.me), "it is dead")
        state.requeue_orphaned()
        check(self.status(task.task_id, "queued").lane == "retry", "requeued")
        self.end(self.claim_one(task.task_id))
        expired = submit("quick", {}, max_age_seconds=0)
        due = submit("quick", {}, delay_seconds=0.001)
        while tasks.get_task(due.task_id).status == "scheduled":
            sweep.sweep()
        gates.sweep_lines()
        sweep.sweep_leftovers()
        self.status(expired.task_id, "dead")
        state.dismiss(expired.task_id)
        self.end(self.claim_one(due.task_id))
        workers.stopped([gone.id])

    def generates(self) -> None:
        prompts.put_prompt(self.name("prompt"), "a lighthouse")
        check(prompts.get_prompt(self.name("prompt"))["text"] == "a lighthouse", "prompt")
        for fails in (False, True):
            task = submit("quick", {})
            claimed = self.claim_one(task.task_id)
            ours = {"task_id": claimed.id, "epoch": claimed.epoch}
            begun = generations.begin_generation(
                **ours, provider="local", action_type="txt2img", prompt=None, prompt_id=self.name("prompt"), request={}
            )
            if fails:
                generations.fail_generation(**ours, error=BOOM, raw_response=None)
            else:
                stored = contents.StoredBytes("0" * 64, 1, "image/png")
                [content] = generations.finish_generation(**ours, raw_response={}, contents=[stored])
                check(contents.get_content(content)["size"] == 1, "content")
            self.end(claimed)
            check(generations.get_generation(begun.id)["prompt"] == "a lighthouse", "generation")

    def tells(self) -> None:
        schema.require_current_schema()  # called by its /readyz and its workers
        check(schema.migrate() == [], "its own migrate changes nothing")
        workers.register(self.me, [QUEUE], 4)  # another identity of this process has declared it dead
        check(vitals.get_vitals().workers == 1, "vitals")
        check(queues.queue_status()["queues"]["dlq"] == 0, "nothing is left dead")
        pace.note_pace({"quick": 0.5})
        bell.ring_tasks([self.name("task")])
        bell.flush_bell()

    def run(self) -> None:
        workers.register(self.me, [QUEUE], 4)
        for verb in (
            self.accepts,
            self.runs,
            self.stops,
            self.dies,
            self.waits,
            self.survives,
            self.generates,
            self.tells,
        ):
            verb()
        workers.stopped([self.me.id])

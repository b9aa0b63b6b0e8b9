"""Real worker processes run tasks, as `dramatiq actors` starts them."""

import signal
from collections.abc import Callable
from pathlib import Path

import actors  # noqa: F401  (declares the kinds of work)
from state import NewTask, Task, cancel, get_attempts, get_events, get_task, submit, submit_many
from state.database.notifier import flush_hints
from tests.support import testactors
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def ended(task_id: str, timeout: float = 30) -> Task:
    return eventually(lambda: (task := get_task(task_id)).finished and task, timeout, what=f"{task_id} ended")


def started(file: Path, count: int = 1) -> None:
    eventually(lambda: file.exists() and len(file.read_text().splitlines()) >= count, what=f"{count} lines in {file}")


def test_send_submits_and_the_result_comes_back(worker: Start) -> None:
    worker()
    message = testactors.note.send({"value": {"answer": 42}})
    assert message.message_id.startswith("tq_")
    task = ended(message.message_id)
    assert (task.status, task.result, task.attempt) == ("completed", {"answer": 42}, 1)
    assert task.worker_id is None


def test_send_with_a_delay_is_scheduled(worker: Start, clock: Clock) -> None:
    message = testactors.note.send_with_options(args=({"value": 1},), delay=3_600_000, priority=0)
    task = get_task(message.message_id)
    assert (task.status, task.priority) == ("scheduled", 0)
    worker()
    clock.advance(3601)
    assert ended(task.task_id).status == "completed"


def test_a_submit_in_the_callers_own_transaction(worker: Start, connection: Observer) -> None:
    worker()
    with connection.transaction(force_rollback=True):
        gone = submit("note", {}, conn=connection).task_id
    with connection.transaction():
        kept = submit("note", {}, conn=connection).task_id
        assert connection.execute("SELECT count(*) AS n FROM callboard.tasks").fetchone() == {"n": 1}
    assert ended(kept).status == "completed"
    assert connection.execute("SELECT FROM callboard.tasks WHERE id = %s", [gone]).fetchone() is None


def test_no_notification_is_lost_because_of_the_one_before_it(worker: Start) -> None:
    """The first notification is sent with its submit; the next ones are sent together a moment later."""
    worker(threads=2, pulse_seconds=100, lease_seconds=600)
    ended(submit("note", {}).task_id)
    for burst in (2, 30):
        ids = [submit("note", {}).task_id for _ in range(burst)]
        assert {ended(task_id).status for task_id in ids} == {"completed"}


def test_a_plain_dramatiq_actor_works_beside_tasks(worker: Start, tmp_path: Path, connection: Observer) -> None:
    worker()
    out = tmp_path / "plain.txt"
    for count in range(100):
        testactors.plain.send(str(out), str(count))
    task_id = submit("note", {"value": 1}).task_id
    started(out, 100)
    assert sorted(int(line) for line in out.read_text().split()) == list(range(100))
    assert ended(task_id).status == "completed"
    held = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'"
    eventually(lambda: connection.fetch_one(held)["n"] < 70, what="advisory locks freed")


def test_async_actors_may_raise_a_timeout_error(worker: Start) -> None:
    worker()
    fine = submit("async_steps", {"seconds": 0.05}).task_id
    broken = submit("async_timeout", {}, max_attempts=1).task_id
    assert ended(fine).result == "done"
    task = ended(broken)
    assert task.status == "dead"
    assert task.error is not None
    assert task.error["type"] == "NetworkTimeout"


def test_a_failure_is_retried_on_schedule_and_keeps_its_reasons(worker: Start, clock: Clock) -> None:
    worker()
    task_id = submit("fail", {"text": "bad \x00 luck".replace("\x00", "")}).task_id
    first = eventually(lambda: (task := get_task(task_id)).status == "scheduled" and task)
    wait = (first.available_at - first.updated_at).total_seconds()
    assert 5 <= wait <= 5.6
    clock.advance(6)
    dead = ended(task_id)
    assert dead.status == "dead"
    assert [error["type"] for error in dead.error_history] == ["RuntimeError", "RuntimeError"]
    assert "raise RuntimeError" in dead.error_history[0]["traceback"]


def test_a_checkpoint_survives_to_the_next_attempt(worker: Start, clock: Clock) -> None:
    worker()
    task_id = submit("remember", {"value": "job-7"}).task_id
    eventually(lambda: get_task(task_id).status == "scheduled")
    clock.advance(10)
    assert ended(task_id).result == "job-7"


def test_a_task_of_an_unknown_actor_waits_without_attempts_until_it_is_dead(
    worker: Start, connection: Observer, clock: Clock
) -> None:
    task_id = submit("noop", {}).task_id
    connection.execute("UPDATE callboard.tasks SET actor = 'gone' WHERE id = %s", [task_id])
    worker()
    task = eventually(lambda: (task := get_task(task_id)).status == "waiting" and task)
    assert task.waiting is not None
    assert (task.waiting["gate"], task.attempt, task.epoch) == ("actor:gone", 0, 0)
    assert ended(submit("note", {}).task_id).status == "completed"
    clock.advance(601)
    task = ended(task_id)
    assert task.error is not None
    assert (task.status, task.error["type"], task.error["category"]) == ("dead", "UnknownActor", "deploy")


def test_progress_is_throttled_and_the_history_is_in_order(worker: Start, tmp_path: Path) -> None:
    worker()
    task_id = submit("steps", {"seconds": 1.2}).task_id
    task = ended(task_id)
    events = get_events(task_id)
    lines = [event for event in events if event.kind == "progress"]
    assert 3 <= len(lines) <= 8  # a hundred were said
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert events[-1].data["to"] == "completed"
    assert task.progress["percent"] == 100


def test_cancel_stops_running_code(worker: Start, tmp_path: Path) -> None:
    worker()
    for actor in ("steps", "async_steps"):
        out = tmp_path / f"{actor}.txt"
        task_id = submit(actor, {"seconds": 60, "file": str(out)}).task_id
        started(out)
        assert cancel(task_id).status in ("running", "canceled")  # the worker may be quicker than the answer
        assert ended(task_id).status == "canceled"
        assert "end" not in out.read_text()
        stages = [event.data["stage"] for event in get_events(task_id) if event.kind == "control"]
        assert stages == ["requested", "seen", "stopped"]
        assert get_attempts(task_id)[0]["outcome"] == "canceled"


def test_no_more_is_claimed_than_threads_are_free(worker: Start, tmp_path: Path, connection: Observer) -> None:
    worker(threads=2, pulse_seconds=0.1)
    out = tmp_path / "out.txt"
    submit_many([NewTask("steps", {"seconds": 20, "file": str(out)}) for _ in range(5)])
    started(out, 2)
    flush_hints()
    # Pulses come and go: had there been three more claims to make, they would be made.
    held = "SELECT min(renewed_at - started_at) > interval '0.4 s' AS long FROM callboard.leases"
    eventually(lambda: connection.execute(held).fetchone() == {"long": True})
    counts = connection.execute(
        "SELECT status, count(*) AS n FROM callboard.tasks GROUP BY status ORDER BY 1"
    ).fetchall()
    assert counts == [{"status": "queued", "n": 3}, {"status": "running", "n": 2}]


def test_sigterm_lets_short_tasks_finish_and_gives_long_ones_back(worker: Start, tmp_path: Path) -> None:
    tree = worker(threads=2, grace_seconds=1.5)
    out = tmp_path / "out.txt"
    short = submit("steps", {"seconds": 1, "file": str(out)}).task_id
    long = [submit(actor, {"seconds": 60, "file": str(out)}).task_id for actor in ("steps", "async_steps")]
    started(out, 3)
    waiting = submit("noop", {}).task_id
    tree.terminate()
    assert tree.wait(timeout=20) == 0
    assert get_task(short).status == "completed"
    for task_id in long:
        task = get_task(task_id)
        assert (task.status, task.attempt, task.lane) == ("queued", 0, "primary")
        assert get_attempts(task_id)[0]["outcome"] == "released"
    assert get_task(waiting).attempt == 0


def test_sigterm_with_code_that_does_not_stop(worker: Start, tmp_path: Path) -> None:
    tree = worker(threads=1, grace_seconds=0.2)
    out = tmp_path / "out.txt"
    task_id = submit("stubborn", {"seconds": 300, "file": str(out)}).task_id
    started(out)
    tree.terminate()
    tree.wait(timeout=120)  # the code would take 300 s
    assert (get_task(task_id).status, get_task(task_id).attempt) == ("queued", 0)
    assert "end" not in out.read_text()


def test_a_second_sigterm_ends_the_process(worker: Start, tmp_path: Path) -> None:
    tree = worker(threads=1, grace_seconds=60)
    out = tmp_path / "out.txt"
    submit("stubborn", {"seconds": 300, "file": str(out)})
    started(out)
    [child] = tree.children()
    child.send_signal(signal.SIGTERM)
    eventually(lambda: "Stopping worker process" in tree.log.read_text())
    child.send_signal(signal.SIGTERM)
    tree.wait(timeout=20)


def test_every_transition_is_a_log_line(worker: Start) -> None:
    tree = worker()
    task_id = submit("note", {}).task_id
    ended(task_id)

    def said(status: str) -> bool:
        lines = [line for line in tree.log.read_text().splitlines() if task_id in line and f'"to": "{status}"' in line]
        return any('"worker"' in line and '"epoch": 1' in line and '"actor": "note"' in line for line in lines)

    assert said("running")
    eventually(lambda: said("completed"))


def test_thousands_of_short_tasks_each_run_once(worker: Start, tmp_path: Path, connection: Observer) -> None:
    out = tmp_path / "out.txt"
    ids = submit_many([NewTask("note", {"file": str(out)}) for _ in range(2000)])
    worker(processes=2, threads=8)
    eventually(lambda: len(out.read_text().splitlines()) >= 2000 if out.exists() else False, timeout=60)
    ran = [line.split()[0] for line in out.read_text().splitlines()]
    assert sorted(ran) == sorted(ids)
    left = "SELECT count(*) AS n FROM callboard.tasks WHERE status <> 'completed'"
    eventually(lambda: connection.execute(left).fetchone() == {"n": 0})

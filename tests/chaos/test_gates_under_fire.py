"""Limits hold at every moment, seen from outside, while workers are killed; nothing that could run is stuck."""

import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from state import NewTask, get_task, submit_many
from state.gates.reads import get_gate
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def busiest(lines: list[str], deaths: dict[int, float]) -> dict[str, int]:
    """The most that were ever at each gate at once, from the tasks' own notes. One whose end is missing was there
    until its process died."""
    ends = {tuple(line.split()[2:4]): float(line.split()[4]) for line in lines if line.startswith("out")}
    changes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for line in lines:
        if line.startswith("in"):
            _, gates, task_id, epoch, begun, pid = line.split()
            end = ends.get((task_id, epoch), deaths.get(int(pid)))
            assert end is not None, f"no end and no death for {line}"
            for gate in gates.split(","):
                changes[gate] += [(float(begun), 1), (end, -1)]
    most = {}
    for gate, moments in changes.items():
        now = 0
        most[gate] = 0
        for _, change in sorted(moments):
            now += change
            most[gate] = max(most[gate], now)
    return most


def test_limits_hold_while_workers_are_killed(worker: Start, tmp_path: Path, connection: Observer) -> None:
    dice = random.Random(11)
    out = tmp_path / "out.txt"
    limits = {f"gate:{n}": n % 5 + 1 for n in range(10)}
    tasks = []
    for _ in range(500):
        gates = {key: limits[key] for key in dice.sample(sorted(limits), dice.choice([1, 1, 2, 3]))}
        tasks.append(NewTask("gated", {"gates": gates, "seconds": dice.uniform(0.01, 0.1), "file": str(out)}))
    ids = submit_many(tasks)
    deaths: dict[int, float] = {}
    trees = [worker(processes=2, threads=4) for _ in range(2)]
    for _ in range(4):
        done = len(out.read_text().splitlines()) if out.exists() else 0
        wanted = min(done + 60, 2 * len(ids) - 40)  # two lines of each: a fast machine is through before the last kill
        eventually(lambda: len(out.read_text().splitlines()) > wanted, timeout=60)  # noqa: B023
        tree = trees.pop(0)
        victims = [child.pid for child in tree.children()]
        deaths |= dict.fromkeys(victims, time.time())  # before: others may go on with their tasks at once
        tree.signal_all(signal.SIGKILL)
        tree.wait()
        trees.append(worker(processes=2, threads=4))
    left = "SELECT count(*) AS n FROM callboard.tasks WHERE status <> 'completed'"
    eventually(lambda: connection.execute(left).fetchone() == {"n": 0}, timeout=120)
    assert {get_task(each).status for each in ids} == {"completed"}
    most = busiest(out.read_text().splitlines(), deaths)
    assert {gate: count for gate, count in most.items() if count > limits[gate]} == {}
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


class Flaky(BaseHTTPRequestHandler):
    healthy = False
    requests = 0

    refusal = 503

    def do_GET(self) -> None:
        type(self).requests += 1
        self.send_response(200 if self.healthy else self.refusal)
        self.send_header("Retry-After", "40")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def served(service: type[Flaky]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_retry_after_closes_the_gate_for_everybody(worker: Start, connection: Observer, clock: Clock) -> None:
    class Service(Flaky):
        refusal = 429

    with served(Service) as url:
        worker(threads=1)
        submit_many([NewTask("flaky", {"text": url}) for _ in range(20)])
        eventually(lambda: get_gate("provider:flaky")["closed_until"] is not None)
        waiting = "SELECT count(*) AS n FROM callboard.tasks WHERE status = 'waiting' AND attempt = 0"
        eventually(lambda: connection.fetch_one(waiting)["n"] >= 18)
        assert Service.requests <= 2
        Service.healthy = True
        clock.advance(41)
        left = "SELECT count(*) AS n FROM callboard.tasks WHERE status <> 'completed'"
        eventually(lambda: connection.execute(left).fetchone() == {"n": 0})


def test_a_breaker_that_is_named_only_in_an_answer_opens(worker: Start, connection: Observer) -> None:
    class Service(Flaky):
        pass

    with served(Service) as url:
        worker(threads=5)
        for _ in range(60):
            submit_many([NewTask("unannounced", {"text": url})])
        eventually(lambda: get_gate("provider:unannounced")["breaker_state"] == "open")
        alive = "SELECT count(*) AS n FROM callboard.tasks WHERE status IN ('queued', 'running')"
        eventually(lambda: connection.execute(alive).fetchone() == {"n": 0})
        assert 10 <= Service.requests <= 30


def test_an_outage_costs_no_attempts(worker: Start, connection: Observer, clock: Clock) -> None:
    class Service(Flaky):
        pass

    with served(Service) as url:
        submit_many([NewTask("flaky", {"text": url}) for _ in range(1000)])
        for _ in range(2):
            worker(processes=1, threads=5)
        eventually(lambda: get_gate("provider:flaky")["breaker_state"] == "open")
        running = "SELECT count(*) AS n FROM callboard.leases"
        eventually(lambda: connection.execute(running).fetchone() == {"n": 0})
        sent = Service.requests
        assert 10 <= sent <= 30
        unspent = "SELECT count(*) AS n FROM callboard.tasks WHERE attempt = 0"
        eventually(lambda: connection.fetch_one(unspent)["n"] >= 1000 - sent)
        for probe in (1, 2):
            clock.advance(61)
            eventually(lambda: Service.requests == sent + probe)  # noqa: B023
            eventually(lambda: get_gate("provider:flaky")["breaker_state"] == "open")
            assert Service.requests == sent + probe  # one in all of the cluster, not one for each worker
        Service.healthy = True
        clock.advance(61)
        left = "SELECT count(*) AS n FROM callboard.tasks WHERE status <> 'completed'"

        def drained() -> bool:
            clock.advance(10)  # retries of the first failures come due
            return connection.execute(left).fetchone() == {"n": 0}

        eventually(drained, timeout=60, every=0.5)
        assert connection.fetch_one("SELECT max(attempt) AS n FROM callboard.tasks")["n"] <= 4

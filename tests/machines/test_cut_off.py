"""Four hosts and a database: one host is cut off for longer than its lease and comes back, one has a slow link."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state import NewTask, get_events, get_task, submit_many
from state.access.keys import create_key
from state.schema.migration import migrate
from tests.conftest import settings_for
from tests.machines import network
from tests.machines.conftest import ACTORS, LEASE, PULSE
from tests.machines.httpserver import start_http_server
from tests.machines.network import Host, Network
from tests.machines.servers import Server
from tests.machines.verdict import find_executions, find_violations
from tests.support.eventually import eventually
from tests.support.workers import ROOT, WorkerTree

_PORT, _SLOW_PORT = 5432, 5433  # in a network of our own all ports are free


@pytest.fixture
def net() -> Iterator[Network]:
    if reason := network.why_not():
        pytest.skip(reason)
    with Network() as made:
        yield made


@pytest.fixture
def server(net: Network, folder: Path, tmp_path: Path) -> Iterator[Server]:
    """This process reaches it through its socket, the hosts through the switch."""
    made = Server(folder / "server", net.address, _PORT, net.enter)
    try:
        made.initialize()
        made.start()
        with settings_for(made.url, tmp_path):
            migrate()
            yield made
    finally:
        made.kill()


def url_on(net: Network, port: int = _PORT) -> str:
    return f"postgresql://postgres@{net.address}:{port}/postgres"


class Workers(WorkerTree):
    def __init__(self, host: Host, folder: Path, url: str, processes: int) -> None:
        super().__init__(
            folder / f"{host.name}.log", processes, 2, host.enter,
            actors=ACTORS, database_url=url, lease_seconds=LEASE, pulse_seconds=PULSE,
        )  # fmt: skip


@contextmanager
def run(command: list[str], log: Path) -> Iterator[None]:
    with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=sys.stderr) as process:
        try:
            yield
        finally:
            process.kill()


def test_a_host_that_is_cut_off_and_one_with_a_slow_link(net: Network, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "journal"
    accepted: list[str] = []

    def ask(kinds: list[str], seconds: float) -> list[str]:
        accepted.extend(submit_many([NewTask(kind, {"journal": str(file), "seconds": seconds}) for kind in kinds]))
        return accepted[-len(kinds) :]

    def count(query: str) -> int:
        [(number,)] = server.execute(f"SELECT count(*) FROM callboard.{query}")
        return int(number)

    def completed_on(host: Host) -> int:
        return count(f"attempts WHERE worker_id LIKE '{host.name}:%' AND outcome = 'completed'")

    east, west, slow, web = (net.add_host(name) for name in ("east", "west", "slow", "web"))
    with ExitStack() as stack:
        link = [sys.executable, "-m", "tests.machines.slowlink", net.address, str(_SLOW_PORT), str(_PORT)]
        stack.enter_context(run([*net.enter, *link], tmp_path / "slowlink.log"))
        trees = [
            Workers(east, tmp_path, url_on(net), 2),
            Workers(west, tmp_path, url_on(net), 1),
            Workers(slow, tmp_path, url_on(net, _SLOW_PORT), 1),
        ]
        for tree in trees:
            stack.callback(tree.kill)
        _, key = create_key("reader", "operator")
        environment = {**os.environ, "CALLBOARD_ACTORS": ACTORS, "CALLBOARD_DATABASE_URL": url_on(net)}
        url = stack.enter_context(start_http_server(tmp_path / "http.log", environment, web.address, web.enter))
        for tree in trees:
            tree.wait_ready()

        # All places are taken, on all hosts, by code of every kind.
        kinds = ["journal_calls", "journal_block", "journal_async", "journal_swallow", "journal_slow", "journal_calls"]
        first = ask(kinds * 3, 3)
        followed = first[0]
        command = [sys.executable, "-m", "tests.machines.follow", url, key, followed]
        stack.enter_context(run([*east.enter, *command], tmp_path / "followed"))
        eventually(lambda: "progress" in (tmp_path / "followed").read_text(), what="the reader on the host follows")
        held = server.execute("SELECT task_id, epoch FROM callboard.leases WHERE worker_id LIKE 'east:%'")
        assert held

        # Cut off: others take its tasks, and it has stopped its code by then (which the verdict knows).
        east.cut()
        eventually(lambda: count("leases WHERE worker_id LIKE 'east:%'") == 0, what="its tasks are taken from it")
        ask(["journal_slow"] * 6, 0.3)
        lost = server.execute("SELECT task_id, epoch FROM callboard.attempts WHERE outcome = 'lost'")
        assert lost
        east.mend()

        # Back again: it works as before, without anybody's help.
        before = completed_on(east)
        while completed_on(east) == before:
            waiting = ask(["journal_slow"] * 12, 0.3)
            eventually(lambda each=waiting: all(get_task(task).finished for task in each), timeout=60)  # type: ignore[misc]
        eventually(lambda: all(get_task(task).finished for task in accepted), timeout=60, every=0.2)
        told = eventually(lambda: "done" in (tmp_path / "followed").read_text() and (tmp_path / "followed").read_text())

    assert find_violations(server.url, file, LEASE, accepted) == []
    assert count("attempts WHERE outcome = 'lost' AND worker_id NOT LIKE 'east:%'") == 0
    assert completed_on(slow) > 0
    assert {run.epoch for task, _ in lost for run in find_executions(file, task)} >= {1, 2}
    numbers = [line["n"] for line in map(json.loads, told.splitlines()) if line["kind"] != "done"]
    assert numbers == [event.n for event in get_events(followed)]

"""The storm: a run on a Postgres of its own, with all faults that there are."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from deploy.prove.cluster import Plan, Tree
from deploy.prove.executions import Journals
from deploy.prove.history import History
from deploy.prove.journal import Journal
from deploy.prove.judge import Rules, Violation
from deploy.prove.readers import Readers
from deploy.prove.receiver import Receiver
from deploy.prove.requests import Requests
from deploy.prove.run import Run, Scene
from deploy.prove.schedule import Step
from deploy.prove.verdict import Verdict
from state.schema.migration import migrate
from tests.chaos.storm.harm import Harm
from tests.chaos.storm.proxy import PostgresProxy
from tests.chaos.storm.schedule import LEASE, LIMITS, PULSE, plan
from tests.chaos.storm.server import DATABASE, StormServer, start_server
from tests.chaos.storm.structures import judge_structures, read_facts
from tests.chaos.storm.work import StormWork
from tests.conftest import settings_for
from tests.support.wrongclock import VARIABLE, write_error

ACTORS = "actors,tests.support.journalactors"
# As where the kernel ends no process with its leases: there the fence is all there is.
UNTIMED = f"{ACTORS},tests.support.withouttimer"
_NO_DISK = "fill_disk: only root may mount the small disk that it needs"


class Storm(Run):
    lease, pulse = LEASE, PULSE
    gates = tuple(LIMITS)

    def __init__(
        self,
        seed: int,
        seconds: float,
        folder: Path,
        server: StormServer,
        proxies: list[PostgresProxy],
        say: Callable[[str], None],
        more_kills: bool,
    ) -> None:
        super().__init__(seed, seconds, folder, say)
        self._server = server
        self._proxies = proxies
        self._more_kills = more_kills
        self._wrong_clock = folder / "wrong-clock"
        write_error(self._wrong_clock, 0)
        if server.disk is None:
            self.left_out.add(_NO_DISK)

    def make_plan(self, receiver: Receiver) -> Plan:
        pooled, direct = [self._address(proxy) for proxy in self._proxies]
        ways = {"CALLBOARD_DATABASE_URL": pooled, "CALLBOARD_DIRECT_URL": direct}
        wrong = {VARIABLE: str(self._wrong_clock), "CALLBOARD_ACTORS": f"tests.support.wrongclock,{UNTIMED}"}
        trees = [
            Tree(2, 3),
            Tree(1, 4, {**ways, "CALLBOARD_ACTORS": UNTIMED}),
            Tree(1, 4),
            Tree(1, 4, {"CALLBOARD_DATABASE_URL": pooled, **wrong}),
        ]
        return Plan({**self.settings(receiver), "CALLBOARD_ACTORS": ACTORS}, trees, [{}, ways])

    def _address(self, proxy: PostgresProxy) -> str:
        return f"postgresql://{self._server.user}@127.0.0.1:{proxy.port}/{DATABASE}?sslmode=disable&gssencmode=disable"

    def make_steps(self) -> list[Step]:
        return plan(self.seed, self.seconds, full_disk=self._server.disk is not None, more_kills=self._more_kills)

    def make_work(self, journal: Journal, requests: Requests, readers: Readers, receiver: Receiver) -> StormWork:
        work = StormWork(journal, requests, readers, receiver.url, self._server.url, self.tasks_journal)
        work.declare_gates()
        return work

    def make_faults(self, scene: Scene) -> Harm:
        return Harm(scene.cluster, scene.journal, _work(scene), self._server, self._proxies, self._wrong_clock)

    def judge_more(self, scene: Scene, history: History, journals: Journals) -> list[Violation]:
        violations = judge_structures(read_facts(self._server.url), journals.executions, Rules(self.lease))
        return [*violations, *_find_submitted_twice(self._server.url)]

    def keeps_journal(self, code: str) -> bool:
        return code.startswith("journal") or code == "project_run"

    def list_canceled(self, scene: Scene) -> set[str]:
        return scene.work.canceled | read_facts(self._server.url).canceled

    def count_more(self, scene: Scene) -> Mapping[str, int]:
        structures = _work(scene).structures
        return {"workflows": len(structures.workflows), "projects": len(structures.projects)}


def _work(scene: Scene) -> StormWork:
    assert isinstance(scene.work, StormWork)
    return scene.work


def _find_submitted_twice(url: str) -> list[Violation]:
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT payload ->> 'mark', array_agg(id) FROM callboard.tasks WHERE payload ->> 'mark' IS NOT NULL "
            "GROUP BY 1 HAVING count(*) > 1"
        ).fetchall()
    return [Violation("submitted_twice", f"submit {mark} has made {ids}") for mark, ids in rows]


def run_storm(
    seed: int, seconds: float, folder: Path, say: Callable[[str], None] = print, *, more_kills: bool = False
) -> Verdict:
    """`folder` gets the journals and the logs of the programs."""
    with start_server() as server, settings_for(server.url, folder):
        migrate()
        with _start_proxies(server) as proxies:
            return Storm(seed, seconds, folder, server, proxies, say, more_kills).run()


@contextmanager
def _start_proxies(server: StormServer) -> Iterator[list[PostgresProxy]]:
    proxies = [PostgresProxy(server.socket) for _ in range(2)]
    try:
        yield proxies
    finally:
        for proxy in proxies:
            proxy.close()

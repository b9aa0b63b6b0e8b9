"""The contenders, by name. `NAME-100`: with 100 places for async tasks in each process (or batches of 100)."""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.harness import venvs
from tests.bench.harness.postgres import Server
from tests.bench.harness.processes import Children
from tests.bench.harness.redis import Redis
from tests.bench.peers.side import Side
from tests.bench.peers.sizes import THREADS
from tests.bench.peers.stores import PostgresStore, RedisStore, Store

CALLBOARD = "callboard"
APPS = "tests.bench.peers.apps"
Command = Callable[[int], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Roster:
    server: Server
    redis: Redis
    children: Children
    folder: Path

    def side(self, name: str, **settings: str) -> Side:
        """Raises Unavailable if it cannot run here. The settings are environment variables of its workers."""
        base = base_of(name)
        places = name.removeprefix(base).removeprefix("-")
        return MAKERS[base](self, name, int(places or 0), settings)

    def make(
        self, name: str, app: str, python: Path, command: Command, store: Store, env: Mapping[str, str], url: str = ""
    ) -> Side:
        """`url`: a variable that its workers read the address of the store from, if it has one of its own."""
        return Side(
            name=name,
            app=f"{APPS}.{app}",
            python=python,
            command=command,
            store=store,
            children=self.children,
            folder=self.folder,
            url_variables=["BENCH_DATABASE_URL", *filter(None, [url])],
            env=env,
        )


def base_of(name: str) -> str:
    base, _, places = name.rpartition("-")
    return base if places.isdigit() else name


def _dramatiq(python: Path, module: str) -> Command:
    """One command, whose master starts the processes."""
    return lambda processes: [[str(python), "-m", "dramatiq", module, "-p", str(processes), "-t", str(THREADS)]]


def _each(*command: str) -> Command:
    """One command for each process."""
    return lambda processes: [list(command) for _ in range(processes)]


def callboard(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    store = PostgresStore(
        roster.server,
        "select count(*) from callboard.tasks where status <> 'completed'",
        "select count(*) from callboard.tasks where status = 'completed'",
    )
    settings = {"CALLBOARD_ACTORS": f"actors,{APPS}.callboard_app"}
    if places:
        settings["CALLBOARD_COROUTINES"] = str(places)
    python = Path(sys.executable)
    command = _dramatiq(python, "actors")
    return roster.make(name, "callboard_app", python, command, store, {**settings, **env}, "CALLBOARD_DATABASE_URL")


def dramatiq_pg(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    store = PostgresStore(
        roster.server,
        "select count(*) from dramatiq.queue where state in ('queued', 'consumed')",
        "select count(*) from dramatiq.queue where state = 'done'",
    )
    python = venvs.python_of(venvs.PEERS)
    return roster.make(name, "dramatiq_pg_app", python, _dramatiq(python, f"{APPS}.dramatiq_pg_app"), store, env)


def procrastinate(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    store = PostgresStore(
        roster.server,
        "select count(*) from procrastinate_jobs where status in ('todo', 'doing')",
        "select count(*) from procrastinate_jobs where status = 'succeeded'",
    )
    python = venvs.python_of(venvs.PEERS)
    app = f"--app={APPS}.procrastinate_app.app"
    command = _each(str(python), "-m", "procrastinate", app, "worker", f"--concurrency={places or THREADS}")
    return roster.make(name, "procrastinate_app", python, command, store, env)


def pgqueuer(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    """Its batch is what it claims at once; it starts all of that (it has no number of places)."""
    store = PostgresStore(roster.server, "select count(*) from pgqueuer", None)
    python = venvs.python_of(venvs.PEERS)
    command = _each(str(python), "-m", f"{APPS}.pgqueuer_app", *([str(places)] if places else []))
    return roster.make(name, "pgqueuer_app", python, command, store, env)


def oban(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    store = PostgresStore(
        roster.server,
        "select count(*) from oban_jobs where state in ('available', 'executing', 'scheduled', 'retryable')",
        "select count(*) from oban_jobs where state = 'completed'",
    )
    python = venvs.python_of(venvs.OBAN)
    command = _each(str(python), "-m", "oban", "start", "--queues", f"default:{places or THREADS}")
    return roster.make(name, "oban_app", python, command, store, env, "OBAN_DSN")


def dramatiq_redis(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    store = RedisStore(roster.redis, ("HLEN dramatiq:default.msgs",))
    python = venvs.python_of(venvs.PEERS)
    return roster.make(name, "dramatiq_redis_app", python, _dramatiq(python, f"{APPS}.dramatiq_redis_app"), store, env)


def celery_redis(roster: Roster, name: str, places: int, env: Mapping[str, str]) -> Side:
    """Its default pool: a process for each place."""
    store = RedisStore(roster.redis, ("LLEN celery", "HLEN unacked"))
    python = venvs.python_of(venvs.PEERS)
    module = f"{APPS}.celery_redis_app"

    numbers = itertools.count()  # two nodes must not have the same name

    def command(processes: int) -> list[list[str]]:
        start = [str(python), "-m", "celery", "-A", module, "worker", f"--concurrency={THREADS}"]
        return [[*start, "-n", f"bench{next(numbers)}@%h"] for _ in range(processes)]

    return roster.make(name, "celery_redis_app", python, command, store, env)


MAKERS: dict[str, Callable[[Roster, str, int, Mapping[str, str]], Side]] = {
    CALLBOARD: callboard,
    "dramatiq-pg": dramatiq_pg,
    "procrastinate": procrastinate,
    "pgqueuer": pgqueuer,
    "oban": oban,
    "dramatiq-redis": dramatiq_redis,
    "celery-redis": celery_redis,
}
PEERS = tuple(name for name in MAKERS if name != CALLBOARD)

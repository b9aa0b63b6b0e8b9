"""The list of contenders."""

import importlib.util
from pathlib import Path

from tests.bench import peer_venv
from tests.bench.contender import PROCESSES, THREADS, BenchError, Contender
from tests.bench.processes import Children
from tests.bench.side import Side

CALLBOARD = "callboard"
CALLBOARD_MODULE = "tests.bench.callboard_side"


def dramatiq_pg(children: Children, folder: Path, warm_seconds: float) -> Contender:
    app = "tests.bench.peers.dramatiq_pg_app"
    command = ["-m", "dramatiq", app, "-p", str(PROCESSES), "-t", str(THREADS)]
    return Side(
        name="dramatiq-pg",
        app=app,
        python=peer_venv.PYTHON,
        workers=[[str(peer_venv.PYTHON), *command]],
        unfinished="select count(*) from dramatiq.queue where state in ('queued', 'consumed')",
        finished="select count(*) from dramatiq.queue where state = 'done'",
        children=children,
        folder=folder,
        warm_seconds=warm_seconds,
    )


def procrastinate(children: Children, folder: Path, warm_seconds: float) -> Contender:
    app = "tests.bench.peers.procrastinate_app"
    command = ["-m", "procrastinate", f"--app={app}.app", "worker", f"--concurrency={THREADS}"]
    return Side(
        name="procrastinate",
        app=app,
        python=peer_venv.PYTHON,
        workers=[[str(peer_venv.PYTHON), *command]] * PROCESSES,
        unfinished="select count(*) from procrastinate_jobs where status in ('todo', 'doing')",
        finished="select count(*) from procrastinate_jobs where status = 'succeeded'",
        children=children,
        folder=folder,
        warm_seconds=warm_seconds,
    )


def callboard(children: Children, folder: Path, warm_seconds: float) -> Contender:
    if importlib.util.find_spec(CALLBOARD_MODULE) is None:
        raise BenchError(f"{CALLBOARD_MODULE} is missing; --peers-only runs without it")
    module = importlib.import_module(CALLBOARD_MODULE)
    contender: Contender = module.contender(children, folder, warm_seconds)
    return contender


def roster(children: Children, folder: Path, *, quick: bool, peers_only: bool) -> list[Contender]:
    makers = [dramatiq_pg, procrastinate] if peers_only else [callboard, dramatiq_pg, procrastinate]
    return [make(children, folder, 2.0 if quick else 5.0) for make in makers]

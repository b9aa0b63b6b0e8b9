"""One soak from its start to its verdict."""

import json
import os
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import psutil

from state.schema.migration import migrate
from tests.chaos.soak.faults import LEASE, SETTINGS, Faults
from tests.chaos.soak.growth import judge_growth
from tests.chaos.soak.load import Load
from tests.chaos.soak.plots import draw_lines
from tests.chaos.soak.samples import POSTGRES, Samples, find_postgres
from tests.conftest import settings_for
from tests.machines.httpserver import start_http_server
from tests.machines.verdict import find_violations
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree

_SAMPLE = 5.0
_SHOWN = 20


def run_soak(minutes: float, every: float, rate: float, seed: int, folder: Path) -> bool:
    """`every`: seconds between two faults. `rate`: tasks a second. Returns whether nothing has grown that should not,
    and no promise was broken. `folder` gets the journal, logs, `soak.json` and `soak.svg`."""
    journal = folder / "journal"
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="callboard-soak-", ignore_cleanup_errors=True))
        server = TestPostgres(Path(data))
        server.start()
        stack.callback(server.stop)
        server.execute("CREATE DATABASE soak")
        url = server.url("soak")
        stack.enter_context(settings_for(url, folder))
        migrate()
        steady = WorkerTree(folder / "steady.log", 2, 4, **SETTINGS)
        stack.callback(steady.kill)
        environment = {**os.environ, "CALLBOARD_ACTORS": SETTINGS["actors"]}
        address = stack.enter_context(start_http_server(folder / "http.log", environment))
        faults = Faults(server, folder, trees=2, seed=seed)
        stack.callback(faults.close)
        steady.wait_ready()
        load = Load(address, journal, rate, seed)
        workers = [child.pid for child in steady.children()]
        groups = {f"worker {number}": partial(_same, pid) for number, pid in enumerate(workers, 1)}
        groups |= {"the server": partial(_same, *_find_server()), POSTGRES: partial(find_postgres, Path(data))}
        samples = Samples(url, {**groups, "the workers that are hit": faults.list_pids})
        with suppress(KeyboardInterrupt):  # ends it early, with a verdict
            _go_on(minutes * 60, every, faults, load, samples)
        load.stop()
        faults.wait_until_all_ended()
        violations = find_violations(url, journal, LEASE, load.accepted, load.canceled)
    return _tell(folder, seed, samples, faults, load, violations)


def _same(*pids: int) -> list[int]:
    return list(pids)


def _find_server() -> list[int]:
    return [child.pid for child in psutil.Process().children() if "uvicorn" in " ".join(child.cmdline())]


def _go_on(seconds: float, every: float, faults: Faults, load: Load, samples: Samples) -> None:
    begun = time.monotonic()
    next_fault = begun + every
    while (now := time.monotonic()) - begun < seconds:
        samples.take(load.take_lags())
        if now >= next_fault:
            print(f"{now - begun:7.0f} s  {faults.do_one()}", flush=True)
            next_fault = time.monotonic() + every
        time.sleep(max(now + _SAMPLE - time.monotonic(), 0))


def _tell(folder: Path, seed: int, samples: Samples, faults: Faults, load: Load, violations: list[str]) -> bool:
    columns = samples.columns()
    growths = judge_growth(columns)
    told = {
        "seed": seed,
        "tasks": len(load.accepted),
        "faults": dict(Counter(what for _, what in faults.done)),
        "violations": violations,
        "growth": [each._asdict() for each in growths],
        "samples": samples.rows,
    }
    (folder / "soak.json").write_text(json.dumps(told, indent=1))
    (folder / "soak.svg").write_text(draw_lines(f"Soak, seed {seed}", columns, [(at, 0) for at, _ in faults.done]))
    for line in [*map(str, growths), *violations[:_SHOWN]]:
        print(line)
    grows = sum(each.is_too_much for each in growths)
    print(
        f"soak seed {seed}: seconds {samples.rows[-1]['seconds']:.0f} tasks {len(load.accepted)} "
        f"faults {len(faults.done)} violations {len(violations)} grows {grows}"
    )
    return not (grows or violations)

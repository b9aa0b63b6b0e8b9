"""`python -m tests.bench`: Callboard beside its peers; see --help."""

import argparse
import importlib.metadata
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from tests.bench import peer_venv
from tests.bench.commits import commit_rate
from tests.bench.contender import PROCESSES, THREADS, BenchError
from tests.bench.measures import QUICK, Sizes, catalog, keys
from tests.bench.processes import Children
from tests.bench.report import lines, print_table
from tests.bench.roster import roster
from tests.bench.rounds import run_rounds
from tests.bench.server import Server

COMMITS = "pgbench"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: does it run at all")
    parser.add_argument("--rounds", type=int, help="how often everything is measured (default 3, quick 1)")
    known = sorted({*keys(catalog(QUICK)), COMMITS})
    parser.add_argument("--only", default="", help=f"comma-separated, of: {', '.join(known)}")
    parser.add_argument("--peers-only", action="store_true", help="without Callboard")
    parser.add_argument("--dir", type=Path, help="where the temporary Postgres lives: the disk that is measured")
    options = parser.parse_args(argv)
    options.only = [key for key in options.only.split(",") if key]
    if unknown := set(options.only) - set(known):
        parser.error(f"unknown in --only: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return options


def bench(options: argparse.Namespace, console: Console, folder: Path, children: Children) -> int:
    sizes = QUICK if options.quick else Sizes()
    rounds = options.rounds or (1 if options.quick else 3)
    measurements = [m for m in catalog(sizes) if not options.only or set(m.keys) & set(options.only)]
    contenders = roster(children, folder, quick=options.quick, peers_only=options.peers_only)
    server = Server(folder, children)

    ours = {} if options.peers_only else {"callboard": importlib.metadata.version("callboard")}
    versions = ", ".join(f"{name} {version}" for name, version in {**ours, **peer_venv.versions()}.items())
    load = os.getloadavg()[0]
    print(f"{server.describe()}; Python {sys.version.split()[0]}; {os.cpu_count()} cores, load {load:.1f}")
    print(f"{versions}; workers: {PROCESSES} processes x {THREADS} threads")
    if load > 1:
        print("the machine is busy with something else: the numbers will be noisy")

    commits = []
    if not options.only or COMMITS in options.only:
        for clients in (1, 16):
            rate = commit_rate(server, children, clients, sizes.commits_seconds)
            commits.append(f"{rate:,.0f} with {clients} client{'s' * (clients > 1)}")
        print(f"pgbench, single-row insert commits per second: {', '.join(commits)}", flush=True)

    results = run_rounds(server, contenders, measurements, rounds)
    metrics = [metric for measurement in measurements for metric in measurement.metrics]
    names = [contender.name for contender in contenders]
    print_table(console, metrics, names, results)
    if commits:
        print(f"pgbench, single-row insert commits per second: {', '.join(commits)}")
    for line in lines(metrics, names, results):
        print(line)
    for failure in results.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if results.failures else 0


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 160)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, _interrupt)  # one clean way out; SIGINT too, as a shell's background jobs ignore it
    try:
        peer_venv.ensure()
        with (
            tempfile.TemporaryDirectory(prefix="callboard-bench-", dir=options.dir) as folder,
            Children(Path(folder)) as children,
        ):
            return bench(options, console, Path(folder), children)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

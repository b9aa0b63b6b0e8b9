"""`python -m tests.bench`: Callboard beside its peers and beside bare servers; see --help."""

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from tests.bench.groups.group import Group
from tests.bench.groups.registry import GROUPS
from tests.bench.groups.sizes import QUICK, Sizes
from tests.bench.harness import venvs
from tests.bench.harness.bench import Bench
from tests.bench.harness.commits import commit_rate
from tests.bench.harness.errors import BenchError, Unavailable
from tests.bench.harness.postgres import Server
from tests.bench.harness.processes import Children
from tests.bench.harness.redis import PERSISTENCE, Redis
from tests.bench.peers.roster import PEERS, Roster
from tests.bench.peers.sizes import PROCESSES, THREADS
from tests.bench.results.report import Report, lines, print_table
from tests.bench.results.results import Results
from tests.bench.results.row import CALLBOARD, Row, make_rows

OUTPUT = venvs.ROOT / "build" / "bench.json"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--group", action="append", choices=[*GROUPS], help="one group; may be repeated (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, one turn: does it run at all")
    parser.add_argument("--rounds", type=int, help="how often everything is measured (default 3, quick 1)")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"comma-separated, of: {', '.join(PEERS)}; or none")
    parser.add_argument("--peers-only", action="store_true", help="without Callboard")
    parser.add_argument("--history", type=int, help="finished tasks of the group history (default 1,000,000)")
    parser.add_argument("--enforce", action="store_true", help="end with 1 if a bar is missed")
    parser.add_argument("--json", type=Path, default=OUTPUT, help="where the results are written (%(default)s)")
    parser.add_argument("--dir", type=Path, help="where the temporary Postgres lives: the disk that is measured")
    options = parser.parse_args(argv)
    options.peers = [name for name in options.peers.split(",") if name and name != "none"]
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"unknown in --peers: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return options


def choose_sizes(options: argparse.Namespace) -> Sizes:
    sizes = QUICK if options.quick else Sizes()
    if options.history:
        sizes = Sizes(**{**sizes.__dict__, "history": options.history})
    return sizes


def describe(server: Server, options: argparse.Namespace) -> dict[str, str]:
    """On what the run was made; printed above it, and kept with its results."""
    found = {} if options.peers_only else {CALLBOARD: importlib.metadata.version("callboard")}
    for venv in (venvs.PEERS, venvs.OBAN) if options.peers else ():
        try:
            found.update(venvs.versions(venv))
        except Unavailable as reason:
            print(f"{venv.name}: {reason}", flush=True)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "postgres": server.describe(),
        "redis": " ".join(PERSISTENCE[:4]).replace("--", ""),
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start",
        "workers": f"{PROCESSES} processes of {THREADS} places",
        "versions": ", ".join(f"{name} {version}" for name, version in found.items()),
    }


def run_groups(bench: Bench, groups: Sequence[Group], rounds: int, *, quick: bool) -> list[Row]:
    for number in range(rounds):
        for group in groups:
            bench.where = f"[{number + 1}/{rounds} {group.name}]"
            for measurement in group.measurements:
                if measurement.once and number:
                    continue
                for turn in range(1 if quick else measurement.turns):
                    bench.turn = number * measurement.turns + turn
                    measurement.run(bench)
    return [row for group in groups for row in make_rows(group.name, group.metrics, bench.results)]


def run_bench(options: argparse.Namespace, console: Console, folder: Path, children: Children) -> int:
    sizes = choose_sizes(options)
    server = Server(folder, children)
    meta = describe(server, options)
    for name, text in meta.items():
        print(f"{name}: {text}")
    if os.getloadavg()[0] > 1:
        print("the machine is busy with something else: the numbers will be noisy")
    rates = [commit_rate(server, children, clients, sizes.commits_seconds) for clients in (1, 16)]
    meta["commits"] = f"{rates[0]:,.0f}/s with 1 client, {rates[1]:,.0f}/s with 16 (pgbench, one row each)"
    print(f"commits: {meta['commits']}", flush=True)

    bench = Bench(
        server=server,
        children=children,
        folder=folder,
        roster=Roster(server, Redis(folder, children), children, folder),
        results=Results(),
        peers=options.peers,
        with_callboard=not options.peers_only,
    )
    groups = [GROUPS[name](sizes) for name in options.group or GROUPS]
    report = Report(meta, run_groups(bench, groups, options.rounds or (1 if options.quick else 3), quick=options.quick))
    print_table(console, report.rows)
    for line in lines(report.rows):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    print(f"written: {options.json}")
    missed = report.missed()
    for text in missed:
        print(f"missed: {text}", file=sys.stderr)
    return 1 if options.enforce and missed else 0


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 160)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, _interrupt)  # one clean way out; SIGINT too, as a shell's background jobs ignore it
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # thousands of streams, in the processes that are started
    try:
        with (
            tempfile.TemporaryDirectory(prefix="callboard-bench-", dir=options.dir) as folder,
            Children(Path(folder)) as children,
        ):
            return run_bench(options, console, Path(folder), children)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

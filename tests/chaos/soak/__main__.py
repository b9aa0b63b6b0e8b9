"""`python -m tests.chaos.soak --minutes 60`: one soak; its figures are the last line."""

import argparse
import random
import signal
import sys
from pathlib import Path

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state.logs import configure_logs
from tests.chaos.soak.run import run_soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long it works (default 60)")
    parser.add_argument("--every", type=float, default=30, help="seconds between two faults (default 30)")
    parser.add_argument("--rate", type=float, default=20, help="tasks a second (default 20)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one")
    parser.add_argument("--keep", type=Path, default=Path("build/soak"), help="the folder for what it leaves")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    configure_logs("error")
    for number in (signal.SIGINT, signal.SIGTERM):  # ends what it has started; a shell's background job ignores SIGINT
        signal.signal(number, signal.default_int_handler)
    options.keep.mkdir(parents=True, exist_ok=True)
    (options.keep / "journal").unlink(missing_ok=True)
    print(f"soak seed {seed}: {options.minutes:g} minutes, in {options.keep}", flush=True)
    return 0 if run_soak(options.minutes, options.every, options.rate, seed, options.keep) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.chaos.storm --seed 7`: one storm; its figures are the last line."""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state.logs import configure_logs
from tests.chaos.storm.run import run_storm

_SHOWN = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.storm", description=__doc__)
    parser.add_argument("--seed", type=int, default=os.environ.get("CALLBOARD_STORM_SEED"), help="default: a new one")
    parser.add_argument("--seconds", type=float, default=40, help="how long there are faults (default 40)")
    parser.add_argument("--keep", type=Path, help="a new folder for the journals and the logs of the workers")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else int(options.seed)
    configure_logs("error")
    with tempfile.TemporaryDirectory(prefix="storm-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        verdict = run_storm(seed, options.seconds, folder)
    for violation in verdict.violations[:_SHOWN]:
        print(violation)
    print(verdict)
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())

"""`make chaos`: storms, until there were enough of them. Their table, and their figures as the last line."""

import argparse
import os
import random
import signal
import sys
import tempfile
from pathlib import Path

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from deploy.prove.verdict import Verdict
from state.logs import configure_logs
from tests.chaos.storm.run import run_storm

_SHOWN = 50


def main() -> int:
    options = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # what was started is ended
    configure_logs("error")
    seed = random.randrange(10**6) if options.seed is None else int(options.seed)
    total = Verdict([])
    while True:
        with tempfile.TemporaryDirectory(prefix="storm-") as temporary:
            folder = Path(temporary) if options.keep is None else options.keep / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            verdict = run_storm(seed, options.seconds, folder, _say, more_kills=options.kills > 0)
        for violation in verdict.violations[:_SHOWN]:
            _say(f"seed {seed}: {violation}")
        _say(f"seed {seed}: {verdict.summary()}")
        total.add(verdict)
        if total.figures["kills"] >= options.kills:
            break
        _say(f"{total.figures['kills']} of {options.kills} kills")
        seed += 1
    print(f"\n{total.table()}\n\n{total.summary()}")
    return 1 if total.violations else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos ARGS=", description=__doc__)
    parser.add_argument("--seed", type=int, default=os.environ.get("CALLBOARD_STORM_SEED"), help="default: a new one")
    parser.add_argument("--seconds", type=float, default=180, help="how long there are faults in a storm (default 180)")
    parser.add_argument(
        "--kills", type=int, default=0, help="further storms, with the next seeds, until there were so many kill -9"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the journals and the logs of the programs")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())

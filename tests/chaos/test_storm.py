"""A minute of work under all faults at once. To replay a seed, see tests/chaos/storm/__init__.py."""

import os
from pathlib import Path

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from tests.chaos.storm.run import run_storm

SEED = 7
SECONDS = 40


def test_nothing_is_lost_doubled_or_beyond_a_limit_in_a_storm(tmp_path: Path) -> None:
    verdict = run_storm(int(os.environ.get("CALLBOARD_STORM_SEED", SEED)), SECONDS, tmp_path)
    print(verdict.table())
    assert not verdict.violations, "\n".join([verdict.table(), *map(str, verdict.violations[:50])])

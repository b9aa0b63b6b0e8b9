"""The verdict on a run: what its tasks have written down, compared with the database. The rules are the storm's."""

import time
from collections.abc import Iterable
from math import inf
from pathlib import Path

from deploy.prove.executions import Execution, load
from deploy.prove.history import Clocks, judge_history, read_history
from deploy.prove.journal import now
from deploy.prove.judge import Rules, doubled, judge
from tests.conftest import settings_for

__all__ = ["find_doubled", "find_executions", "find_violations", "now"]  # `now`: of the journals' clock


def find_executions(file: Path, *tasks: str) -> list[Execution]:
    """Those of these tasks, or all."""
    return [run for run in load(file).executions if not tasks or run.task in tasks]


def find_doubled(file: Path, lease: float) -> list[str]:
    return [str(each) for each in doubled(find_executions(file), Rules(lease))]


def find_violations(
    url: str, file: Path, lease: float, accepted: Iterable[str], canceled: Iterable[str] = ()
) -> list[str]:
    """`accepted`: the tasks that submit has acknowledged. All must have ended. `canceled`: those that were canceled."""
    with settings_for(url, file.parent):
        history = read_history(lambda code: code not in ("embedding", "webhook"))
    journals = load(file)
    clocks = Clocks([{"what": "clock", "since": -inf, "offset": now() - time.time()}])
    violations = judge(journals, Rules(lease), history.claimed(clocks), history.lost(clocks))
    return [str(each) for each in violations + judge_history(history, journals.executions, accepted, canceled)]

"""How long it took until a task was queued again whose process was killed or stopped, and until it ran again."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from deploy.prove.executions import Execution
from deploy.prove.judge import Rules


@dataclass(frozen=True, slots=True, order=True)
class Recovery:
    noticed: float  # seconds until the database took the execution away from its worker
    seconds: float  # until the task ran again: with its wait at gates that are full or paused
    what: str  # the execution that was cut off


def measure_recoveries(
    runs: Iterable[Execution], rules: Rules, lost: Mapping[tuple[str, int], float]
) -> list[Recovery]:
    """From the end of an execution's process, or from when it was stopped past its lease."""
    of_task: dict[str, list[Execution]] = defaultdict(list)
    for run in runs:
        of_task[run.task].append(run)
    found = []
    for run in (run for each in of_task.values() for run in each):
        stopped = bool(rules.long_pauses(run))
        if run.how is None or stopped:
            cut = rules.rightful_end(run) if stopped else run.end
            later = [other.begin for other in of_task[run.task] if other.epoch > run.epoch and other.begin > cut]
            if later and run.key in lost:
                found.append(Recovery(max(lost[run.key] - cut, 0), min(later) - cut, str(run)))
    return found


def percentile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[max(ceil(len(ranked) * share) - 1, 0)]

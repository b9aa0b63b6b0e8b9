"""The verdict on a run, from its journals: pure functions, each of which answers the violations of one promise.

An execution is measured from inside (its begin is written when its code has begun, its end before the code ends), so
two that overlap here certainly overlapped. The one thing that no program can do is to stop its code while its process
does not run. So an execution whose process was stopped for long keeps its right only until the stop; from then on it
may be beside its successor, but must not achieve anything, and must be gone soon after it goes on."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf

from deploy.prove.executions import Execution, Interval, Journals, LimitChange

GONE_WITHIN = 3.0  # seconds, after it goes on
CLOCKS_DIFFER = 0.05  # seconds, between a time of the database and one of the journal
CLAIM_TAKES = 5.0  # seconds at most between a claim's start and its look at the limits; more would be an error anyway


@dataclass(frozen=True, slots=True)
class Violation:
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class Rules:
    """`lease`: seconds. A process stops its own work when a third of that is left, so a pause longer than this third
    can be one that it could do nothing about."""

    lease: float = 30.0

    def long_pauses(self, run: Execution) -> list[Interval]:
        return [pause for pause in run.own_pauses() if pause.length >= self.lease / 3]

    def rightful_end(self, run: Execution) -> float:
        """Before its begin, if it was stopped in between its claim and that."""
        return min([run.end, *(pause.since for pause in self.long_pauses(run))])

    def may_begin(self, run: Execution) -> bool:
        return self.rightful_end(run) >= run.begin


def judge(
    journals: Journals,
    rules: Rules,
    claimed: Mapping[tuple[str, int], float] | None = None,
    lost: Mapping[tuple[str, int], float] | None = None,
) -> list[Violation]:
    """By the database, but in times of the journal's clock: when each (task, epoch) was claimed, and when it was taken
    away from its worker."""
    runs = journals.executions
    for run in runs:
        run.claimed = (claimed or {}).get(run.key)
    return [
        *begun_twice(runs),
        *epochs_fallen(runs, rules),
        *doubled(runs, rules),
        *over_limit(runs, rules, journals.limits),
        *targets_doubled(runs, rules),
        *outlived(runs, rules, lost or {}),
    ]


def begun_twice(runs: Iterable[Execution]) -> list[Violation]:
    counted = Counter(run.key for run in runs)
    repeated = [(key, times) for key, times in counted.items() if times > 1]
    return [Violation("begun_twice", f"{task} epoch {epoch} began {n} times") for (task, epoch), n in repeated]


def epochs_fallen(runs: Iterable[Execution], rules: Rules) -> list[Violation]:
    """An execution that begins after one with a higher epoch."""
    violations = []
    highest: dict[str, Execution] = {}
    for run in sorted(runs, key=lambda run: run.begin):
        before = highest.get(run.task)
        if before is not None and before.epoch > run.epoch and rules.may_begin(run):
            violations.append(Violation("epochs_fallen", f"{run} after {before}"))
        if before is None or before.epoch < run.epoch:
            highest[run.task] = run
    return violations


def doubled(runs: Iterable[Execution], rules: Rules) -> list[Violation]:
    return _side_by_side("doubled", runs, rules, lambda run: run.task)


def targets_doubled(runs: Iterable[Execution], rules: Rules) -> list[Violation]:
    """Two tasks of one target at once. (One task beside itself is another violation.)"""
    return _side_by_side("targets_doubled", runs, rules, lambda run: run.target, same_task=False)


def _side_by_side(
    kind: str, runs: Iterable[Execution], rules: Rules, group: Callable[[Execution], str | None], same_task: bool = True
) -> list[Violation]:
    violations = []
    before: dict[str, list[Execution]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.begin):
        name = group(run)
        if name is None or not rules.may_begin(run):
            continue
        violations += [
            Violation(kind, f"{earlier} beside {run}")
            for earlier in before[name]
            if rules.rightful_end(earlier) > run.begin and (same_task or earlier.task != run.task)
        ]
        before[name].append(run)
    return violations


def over_limit(runs: Iterable[Execution], rules: Rules, changes: Iterable[LimitChange]) -> list[Violation]:
    """Each start found room at its gates: what ran there, with itself, was within the limit of that moment."""
    limits = _by_gate(changes)
    violations = []
    at_gate: dict[str, list[Execution]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.begin):
        for gate in run.gates if rules.may_begin(run) else ():
            there = [other for other in at_gate[gate] if rules.rightful_end(other) > run.begin]
            allowed = allowed_at(limits.get(gate, []), run.claimed)
            if len(there) + 1 > allowed:
                others = "; ".join(str(other) for other in there)
                violations.append(Violation("over_limit", f"{gate} allows {allowed:g}: {run} beside {others}"))
            at_gate[gate] = [*there, run]
    return violations


def _by_gate(changes: Iterable[LimitChange]) -> dict[str, list[LimitChange]]:
    found: dict[str, list[LimitChange]] = defaultdict(list)
    for change in sorted(changes, key=lambda change: change.before):
        found[change.gate].append(change)
    return found


def allowed_at(changes: list[LimitChange], claimed: float | None) -> float:
    """The highest limit that a claim of this moment can have seen. A limit ends when the next one is committed; when it
    is unknown when a task was claimed, each limit that there ever was is possible."""
    possible = []
    for number, change in enumerate(changes):
        since = change.before if number else -inf
        until = changes[number + 1].after if number + 1 < len(changes) else inf
        if claimed is None or (since <= claimed + CLAIM_TAKES and until >= claimed - CLOCKS_DIFFER):
            possible.append(inf if change.value is None else float(change.value))
    return max(possible, default=inf)


def outlived(runs: Iterable[Execution], rules: Rules, lost: Mapping[tuple[str, int], float]) -> list[Violation]:
    """Code that ran on after its right was gone. While its process did not run nobody could stop it; but then no call
    of it succeeds after it goes on, and it is gone soon. Otherwise somebody alive was taken for dead."""
    runs = list(runs)
    violations = []
    for run, loss in _losses(runs, lost):
        pauses = [pause for pause in rules.long_pauses(run) if pause.since < loss]
        if not pauses:
            if run.key in lost:
                violations.append(Violation("taken_for_dead", f"{run} was given up at {loss:.3f}"))
            continue
        went_on = pauses[-1].until
        spent = went_on + GONE_WITHIN + sum(pause.length for pause in run.own_pauses() if pause.since >= went_on)
        if run.end > spent:
            violations.append(Violation("outlived", f"{run} went on for {run.end - went_on:.1f} s"))
        late = sorted({call.name for call in run.calls if call.at > max(went_on, loss) and call.result == "ok"})
        if late:
            violations.append(Violation("late_call", f"{run} succeeded with {', '.join(late)} after it went on"))
    return violations


def _losses(runs: list[Execution], lost: Mapping[tuple[str, int], float]) -> Iterable[tuple[Execution, float]]:
    """The executions that lost their right before they ended, and when: the database took it away, or a later one of
    the same task had begun."""
    of_task: dict[str, list[Execution]] = defaultdict(list)
    for run in runs:
        of_task[run.task].append(run)
    for run in runs:
        later = [other.begin for other in of_task[run.task] if other.epoch > run.epoch]
        loss = min([lost.get(run.key, inf), *later])
        if loss + CLOCKS_DIFFER < run.end:
            yield run, loss

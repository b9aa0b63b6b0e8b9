"""Compares the history in the database with the journals that the tasks have written."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deploy.prove.executions import Execution
from deploy.prove.journal import Entry, saved_name
from deploy.prove.judge import Violation
from state.proof.reads import read_attempts, read_events, read_invariants, read_tasks


class Attempt(NamedTuple):
    outcome: str
    started: float
    finished: float


class Clocks:
    """From times of the database's clock, which is stepped, to those of the journal: its lines `clock` say how they
    differ."""

    def __init__(self, faults: Iterable[Entry]) -> None:
        self._offsets = sorted((line["since"], line["offset"]) for line in faults if line["what"] == "clock")

    def journal_time(self, database: float) -> float:
        offsets: list[float] = [offset for since, offset in self._offsets if since <= database]
        return database + offsets[-1]


@dataclass(slots=True)
class TaskFacts:
    status: str
    has_journal: bool = True
    epoch: int = 0
    tokens: int = 0
    checkpoint: dict[str, Any] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # in their order, from number 1 on
    gaps: list[int] = field(default_factory=list)  # numbers of events that do not follow the one before
    announced: list[int] = field(default_factory=list)  # numbers of the events that its webhook must get


@dataclass(slots=True)
class History:
    tasks: dict[str, TaskFacts] = field(default_factory=dict)
    invariants: list[str] = field(default_factory=list)

    def claimed(self, clocks: Clocks) -> dict[tuple[str, int], float]:
        return {key: clocks.journal_time(attempt.started) for key, attempt in self._attempts()}

    def lost(self, clocks: Clocks) -> dict[tuple[str, int], float]:
        """When executions were given up."""
        return {key: clocks.journal_time(a.finished) for key, a in self._attempts() if a.outcome == "lost"}

    def _attempts(self) -> Iterator[tuple[tuple[str, int], Attempt]]:
        for task, facts in self.tasks.items():
            for epoch, attempt in facts.attempts.items():
                yield (task, epoch), attempt


def read_history(keeps_journal: Callable[[str], bool]) -> History:
    """`keeps_journal` returns whether the code of an actor, or of an agent, writes one."""
    history = History()
    for row in read_tasks():
        has_journal = not row["found_nothing"] and keeps_journal(row["code"])
        facts = TaskFacts(row["status"], has_journal, row["epoch"], row["tokens"], row["checkpoint"])
        history.tasks[row["id"]] = facts
    for row in read_attempts():
        attempt = Attempt(row["outcome"], row["started"], row["finished"])
        history.tasks[row["task_id"]].attempts[row["epoch"]] = attempt
    for row in read_events():
        facts = history.tasks[row["task_id"]]
        facts.events.append((row["kind"], row["data"]))
        if row["n"] != len(facts.events):
            facts.gaps.append(row["n"])
        if row["announced"]:
            facts.announced.append(row["n"])
    history.invariants = [str(row) for row in read_invariants()]
    return history


def judge_history(
    history: History,
    runs: Iterable[Execution],
    accepted: Iterable[str],
    canceled: Iterable[str] = (),
    *,
    may_die: bool = False,
    notes_calls: bool = True,
) -> list[Violation]:
    """`accepted`: the ids that submit has answered. `canceled`: those that somebody asked to cancel. `may_die`: the
    code may fail for good, so that a dead task has ended as well. `notes_calls`: it writes down its calls of the
    context."""
    of_task: dict[str, list[Execution]] = defaultdict(list)
    for run in runs:
        of_task[run.task].append(run)
    violations = [Violation("invariants", row) for row in history.invariants]
    violations += [Violation("unfinished", f"{task} is not there") for task in accepted if task not in history.tasks]
    asked = set(canceled)
    for task, facts in history.tasks.items():
        violations += _ended(task, facts, may_be_canceled=task in asked, may_die=may_die)
        if facts.has_journal:
            violations += _agrees(task, facts, of_task[task], notes_calls=notes_calls)
        violations += _told_in_time(task, facts)
        if facts.gaps:
            violations.append(Violation("disagreement", f"{task} has gaps in its history before {facts.gaps}"))
    return violations


def _ended(task: str, facts: TaskFacts, *, may_be_canceled: bool, may_die: bool) -> list[Violation]:
    permitted = ["completed", *(["canceled"] if may_be_canceled else []), *(["dead"] if may_die else [])]
    if facts.status in permitted:
        return []
    return [Violation("unfinished", f"{task} is {facts.status}")]


def _agrees(task: str, facts: TaskFacts, runs: list[Execution], *, notes_calls: bool) -> list[Violation]:
    """Finds differences between the calls of the code and the history, in both directions."""
    found = []
    unknown = sorted({run.epoch for run in runs} - facts.attempts.keys())
    if unknown:
        found.append(f"ran as epoch {unknown} of which no attempt is known")
    completed = [epoch for epoch, attempt in facts.attempts.items() if attempt.outcome == "completed"]
    if completed != ([facts.epoch] if facts.status == "completed" else []):
        found.append(f"is {facts.status} in epoch {facts.epoch}, and completed in {completed}")
    done = {run.epoch for run in runs if run.how == "done"}
    if not set(completed) <= done:
        found.append(f"completed in epoch {completed}, its code was done in {sorted(done)}")
    if notes_calls:
        found += _compare_calls(facts, runs, completed)
    return [Violation("disagreement", f"{task} {text}") for text in found]


def _compare_calls(facts: TaskFacts, runs: list[Execution], completed: list[int]) -> list[str]:
    found = []
    saved = {saved_name(epoch, number) for epoch, number in _succeeded(runs, "save")}
    if missing := sorted(saved - facts.checkpoint.keys()):
        found.append(f"has lost what it saved: {missing}")
    used = sum(call.name == "use" for run in runs for call in run.calls)
    if facts.tokens > used:
        found.append(f"is charged {facts.tokens} tokens of {used} used")
    lines = _succeeded([run for run in runs if run.epoch in completed], "emit")
    if missing_lines := lines - _told(facts).keys():
        found.append(f"has lost what it told: {sorted(missing_lines)}")
    return found


def _succeeded(runs: list[Execution], name: str) -> set[tuple[int, int]]:
    return {(run.epoch, c.number) for run in runs for c in run.calls if c.name == name and c.result == "ok"}


def _told(facts: TaskFacts) -> Counter[tuple[int, int]]:
    return Counter((data["epoch"], data["number"]) for kind, data in facts.events if kind == "journal")


def _told_in_time(task: str, facts: TaskFacts) -> list[Violation]:
    """Every event of an execution stands once in the history, between its start and its end."""
    violations = []
    epoch, running = 0, False
    for kind, data in facts.events:
        if kind == "status":
            running = data["to"] == "running"
            epoch += running
        if kind == "journal" and not (running and data["epoch"] == epoch):
            violations.append(Violation("late_write", f"{task}: {data} after epoch {epoch}, running: {running}"))
    twice = sorted(line for line, times in _told(facts).items() if times > 1)
    if twice:
        violations.append(Violation("late_write", f"{task} told twice: {twice}"))
    return violations

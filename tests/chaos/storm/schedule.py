"""The schedule of a storm: all steps are planned from a seed, before anything starts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LEASE = 4.0
PULSE = 0.5
TREES = 4
LIMITS: dict[str, int | None] = {"storm:one": 1, "storm:two": 2, "storm:three": 3, "storm:open": None}
TARGETS = 6


@dataclass(slots=True)
class Step:
    """`what` is the name of a method of Faults."""

    at: float
    what: str
    with_: dict[str, Any] = field(default_factory=dict)


def plan(seed: int, seconds: float) -> list[Step]:
    dice = random.Random(seed)
    kinds = [_submissions, _verbs, _gate_changes, _faults, _structures]
    return sorted((step for kind in kinds for step in kind(dice, seconds)), key=lambda step: step.at)


# What is to be done.

_KINDS = {  # and how often each is asked for
    "journal_quick": 6,
    "journal_slow": 4,
    "journal_async": 4,
    "journal_calls": 5,
    "journal_block": 2,
    "journal_child": 1,
    "journal_swallow": 2,
    "journal_interpreter": 1,
}
_LONG = ["journal_slow", "journal_async", "journal_calls", "journal_block", "journal_swallow"]


def _submissions(dice: random.Random, seconds: float) -> Iterator[Step]:
    at: float = 0
    while at < seconds:
        yield Step(at, "submit", {"tasks": [_task(dice) for _ in range(dice.choice([1, 2, 3, 4, 5]))]})
        at += dice.uniform(0.3, 0.7)
    for at in range(0, int(seconds), 2):  # something runs for longer than any fault takes, whatever happens
        tasks = [_work(dice.choice(_LONG), dice.uniform(3, 8)) for _ in range(2)]
        yield Step(at + dice.random(), "submit", {"tasks": tasks})
    for burst in range(1, int(seconds / 12) + 1):
        at = burst * 12 - 9 + dice.uniform(0, 3)
        yield Step(at, "submit", {"tasks": [_work("journal_quick", 0) for _ in range(50)]})
        # The actor that was quick a moment ago turns slow.
        yield Step(at + 0.7, "submit", {"tasks": [_work("journal_quick", 2.5) for _ in range(10)]})
    for late in range(int(seconds / 8)):
        tasks = [_work("journal_slow", 2, target=f"late-{late}") for _ in range(2)]
        yield Step(dice.uniform(0, seconds), "submit_late", {"tasks": tasks, "seconds": dice.uniform(0.5, 1.5)})


def _task(dice: random.Random) -> dict[str, Any]:
    [kind] = dice.choices(list(_KINDS), list(_KINDS.values()))
    seconds = 0 if kind == "journal_quick" else dice.uniform(0.2, 1)
    gates = dice.sample(sorted(LIMITS), dice.choice([0, 1, 1, 2]))
    target = f"target-{dice.randrange(TARGETS)}" if dice.random() < 0.15 else None
    if "storm:one" in gates or target:
        seconds = min(seconds, 0.4)  # these go one by one
    return _work(kind, seconds, gates, target)


def _work(kind: str, seconds: float, gates: list[str] | None = None, target: str | None = None) -> dict[str, Any]:
    limits = {key: LIMITS[key] for key in gates or ()}
    return {"actor": kind, "seconds": seconds, "gates": limits, "target": target}


def _structures(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 0.5
    while at < seconds:
        yield Step(at, "start_workflow", {"width": dice.choice([1, 2, 3, 5]), "seconds": dice.uniform(0.05, 0.5)})
        yield Step(at + 1, "start_project", {"items": dice.choice([2, 3, 5]), "seconds": dice.uniform(0.05, 0.8)})
        yield Step(at + dice.uniform(1, 3), "restart_project", {"pick": dice.random()})
        at += dice.uniform(2, 4)


# What people ask for meanwhile. `pick` chooses among the tasks that have not ended.


def _verbs(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 1.0
    while at < seconds:
        verb = dice.choice(["cancel", "force", "pause", "pause", "resume", "resume"])
        details: dict[str, Any] = {"pick": dice.random()}
        if verb != "resume":
            details["status"] = dice.choice(["running", "running", "waiting", "queued"])
        yield Step(at, verb, details)
        at += dice.uniform(0.4, 1.2)


def _gate_changes(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 3.0
    while at < seconds - 3:
        key = dice.choice(sorted(LIMITS))
        if dice.random() < 0.25:
            yield Step(at, "pause_gate", {"key": key, "seconds": dice.uniform(1, 2)})
        else:
            values = [1, 2, 3, 4, None] if key == "storm:open" else [1, 2, 3, 4]
            yield Step(at, "set_limit", {"key": key, "value": dice.choice(values)})
        at += dice.uniform(1.5, 3)


# What goes wrong.

_BAG = [
    *["kill_process", "kill_tree", "stop_tree", "stall_tree", "restart_postgres", "lock_gate"] * 2,
    *["kill_maintainer", "insert_gate", "redeploy_tree", "lock_leases", "lock_tasks", "lock_structures"],
    *["step_clock"] * 3,
]
_NEEDED = {"step_clock": 2, "stop_tree": 2}  # trees that are well: who takes over, and from whom something can be taken
_RECOVERY = 5.0  # seconds that a tree is spared after a fault: a new one has to start


def _faults(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 2.0
    bag: list[str] = []
    spared = [0.0] * TREES
    while at < seconds - 1:
        bag = bag or dice.sample(_BAG, len(_BAG))
        what = bag.pop()
        well = [tree for tree in range(TREES) if spared[tree] <= at]
        if len(well) < _NEEDED.get(what, 1):  # they have just been hit: something else first
            bag.insert(0, what)
            at += 0.3
            continue
        details, lasts = _details(dice, what, number=int(at * 1000))
        if what.endswith("_tree") or what == "kill_process":
            details["tree"] = tree = dice.choice(well)
            spared[tree] = at + lasts + _RECOVERY
        yield Step(at, what, details)
        at += dice.uniform(0.7, 1.8)


def _details(dice: random.Random, what: str, number: int) -> tuple[dict[str, Any], float]:
    """And how long it lasts."""
    pick, seconds = dice.random(), 0.0
    match what:
        case "stop_tree":  # past the lease
            seconds = dice.uniform(LEASE + 1.5, LEASE + 3)
        case "stall_tree":  # less than what a process keeps in reserve
            seconds = dice.uniform(0.2, LEASE / 6)
        case "lock_gate" | "insert_gate" | "lock_tasks" | "lock_structures":
            seconds = dice.uniform(2, 4)
        case "lock_leases":  # past the lease
            seconds = dice.uniform(LEASE + 1.5, LEASE + 3)
    details: dict[str, Any] = {"seconds": seconds} if seconds else {}
    if what == "lock_gate":
        details["key"] = dice.choice(sorted(LIMITS))
    elif what == "insert_gate":
        details |= {"key": f"storm:new-{number}", "commit": pick < 0.5}
    elif what == "step_clock":
        details["seconds"] = dice.uniform(10, 40)
    elif what == "kill_process":
        details["pick"] = pick
    return details, seconds

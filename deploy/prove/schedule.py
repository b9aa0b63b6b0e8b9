"""The schedule of a run: all steps are planned from a seed, before anything starts."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Details = Callable[[random.Random, str, float], dict[str, Any]]
"""Further arguments of a fault, by its name and the moment."""

SAFE = [
    *["kill_process", "kill_tree", "stop_tree", "stall_tree", "kill_server", "cut_connections", "lock_gate"] * 2,
    *[
        "kill_maintainer",
        "redeploy_tree",
        "redeploy_server",
        "stop_server",
        "cut_listeners",
        "lock_leases",
        "lock_tasks",
    ],
]
"""Faults that harm only what the run itself has made, and how often each comes in one round of all."""

_NEEDED = {"step_clock": 2, "stop_tree": 2}  # trees that are well: who takes over, and from whom something can be taken
_RECOVERY = 5.0  # seconds that a program is spared after a fault: a new one has to start
_OF_TREE = frozenset({"kill_process", "kill_tree", "stop_tree", "stall_tree", "redeploy_tree"})
_OF_SERVER = frozenset({"kill_server", "stop_server", "redeploy_server"})


@dataclass(slots=True)
class Step:
    """`what` is the name of a method of Faults, of Work, or of what a run adds to them."""

    at: float
    what: str
    with_: dict[str, Any] = field(default_factory=dict)


def _no_details(_dice: random.Random, _what: str, _at: float) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Faults:
    """What to plan faults for. `lasts`: the shortest and the longest time of each that takes time. `pace`: the same for
    the time between two."""

    lease: float
    trees: int
    servers: int
    gates: Sequence[str] = ()
    bag: Sequence[str] = tuple(SAFE)
    lasts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    pace: tuple[float, float] = (0.7, 1.8)
    details: Details = _no_details

    def choose_seconds(self, dice: random.Random, what: str) -> float:
        past = (self.lease + 1.5, self.lease + 3)
        lasts: dict[str, tuple[float, float]] = {
            "stop_tree": past,
            "lock_leases": past,
            "stall_tree": (0.2, self.lease / 6),  # less than what a process keeps in reserve
            "lock_gate": (2, 4),
            "lock_tasks": (2, 4),
            "stop_server": (1, 4),
            **self.lasts,
        }
        return dice.uniform(*lasts[what]) if what in lasts else 0.0


def plan_faults(dice: random.Random, seconds: float, faults: Faults) -> Iterator[Step]:
    """The first round has every fault once, so that also a short run has all of them."""
    at = 2.0
    spared = {("tree", n): 0.0 for n in range(faults.trees)} | {("server", n): 0.0 for n in range(faults.servers)}
    possible = [what for what in faults.bag if what != "lock_gate" or faults.gates]
    bag = dice.sample(sorted(set(possible)), len(set(possible)))
    while at < seconds - 1:
        bag = bag or dice.sample(possible, len(possible))
        what = bag.pop()
        kind = "server" if what in _OF_SERVER else "tree"
        well = [number for each, number in spared if each == kind and spared[each, number] <= at]
        if len(well) < _NEEDED.get(what, 1):  # they have just been hit: something else first
            bag.insert(0, what)
            at += 0.3
            continue
        lasts = faults.choose_seconds(dice, what)
        details: dict[str, Any] = {"seconds": lasts} if lasts else {}
        if what in _OF_TREE | _OF_SERVER:
            details[kind] = number = dice.choice(well)
            spared[kind, number] = at + lasts + _RECOVERY
        if what == "lock_gate":
            details["key"] = dice.choice(sorted(faults.gates))
        elif what == "kill_process":
            details["pick"] = dice.random()
        elif what in ("cut_connections", "cut_listeners"):
            details["share"] = dice.choice([0.2, 0.5, 1.0])
        yield Step(at, what, details | faults.details(dice, what, at))
        at += dice.uniform(*faults.pace)


# What people ask for meanwhile. `pick` chooses among the tasks that have not ended.


def plan_verbs(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 1.0
    while at < seconds:
        verb = dice.choice(["cancel", "force", "pause", "pause", "resume", "resume", "cancel_race", "redrive"])
        details: dict[str, Any] = {}
        if verb != "redrive":
            details["pick"] = dice.random()
        if verb not in ("resume", "redrive"):
            details["status"] = dice.choice(["running", "running", "waiting", "queued"])
        yield Step(at, verb, details)
        at += dice.uniform(0.4, 1.2)


def plan_gate_changes(
    dice: random.Random, seconds: float, gates: Sequence[str], unlimited: Sequence[str] = ()
) -> Iterator[Step]:
    """`unlimited`: gates that may also have no limit."""
    at = 3.0
    while gates and at < seconds - 3:
        key = dice.choice(sorted(gates))
        if dice.random() < 0.25:
            yield Step(at, "pause_gate", {"key": key, "seconds": dice.uniform(1, 2)})
        else:
            values = [1, 2, 3, 4, None] if key in unlimited else [1, 2, 3, 4]
            yield Step(at, "set_limit", {"key": key, "value": dice.choice(values)})
        at += dice.uniform(1.5, 3)

"""The schedule of a storm: what is to be done, what people ask for meanwhile, and what goes wrong."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from deploy.prove.schedule import SAFE, Faults, Step, plan_faults, plan_gate_changes, plan_verbs

LEASE = 4.0
PULSE = 0.5
TREES = 4
SERVERS = 2
LIMITS: dict[str, int | None] = {"storm:one": 1, "storm:two": 2, "storm:three": 3, "storm:open": None}
TARGETS = 6

_LONG_RUN = 700.0  # seconds; from here on there is room for faults of a minute and of ten


def plan(seed: int, seconds: float, *, full_disk: bool = True, more_kills: bool = False) -> list[Step]:
    dice = random.Random(seed)
    steps = [
        *_submissions(dice, seconds),
        *plan_verbs(dice, seconds),
        *plan_gate_changes(dice, seconds, list(LIMITS), ["storm:open"]),
        *_faults(dice, seconds, full_disk=full_disk, more_kills=more_kills),
        *_structures(dice, seconds),
    ]
    return sorted(steps, key=lambda step: step.at)


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
    "journal_fails": 2,
}
_LONG = ["journal_slow", "journal_async", "journal_calls", "journal_block", "journal_swallow"]
_EVENTS = [None, ["completed", "canceled", "dead"], ["running", "scheduled", "paused", "completed", "canceled", "dead"]]


def _submissions(dice: random.Random, seconds: float) -> Iterator[Step]:
    at: float = 0
    while at < seconds:
        yield Step(at, "submit", {"tasks": [_task(dice) for _ in range(dice.choice([1, 2, 3, 4]))]})
        details = {"events": dice.choice(_EVENTS), "followed": dice.random() < 0.7, "snapshot": dice.random() < 0.3}
        yield Step(at + dice.uniform(0, 0.3), "submit_http", {"task": _task(dice), **details})
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


def _work(kind: str, seconds: float, gates: Sequence[str] = (), target: str | None = None) -> dict[str, Any]:
    limits = {key: LIMITS[key] for key in gates}
    fails = {"fails": 1} if kind == "journal_fails" else {}
    return {"actor": kind, "seconds": seconds, "gates": limits, "target": target, **fails}


def _structures(dice: random.Random, seconds: float) -> Iterator[Step]:
    at = 0.5
    while at < seconds:
        details = {
            "width": dice.choice([1, 2, 3, 5]),
            "seconds": dice.uniform(0.05, 0.5),
            "fails": dice.choice([0, 0, 1]),
        }
        yield Step(at, "start_workflow", details)
        yield Step(at + 1, "start_project", {"items": dice.choice([2, 3, 5]), "seconds": dice.uniform(0.05, 0.8)})
        yield Step(at + dice.uniform(1, 3), "restart_project", {"pick": dice.random()})
        yield Step(
            at + dice.uniform(1, 4), dice.choice(["repair_workflow", "force_stop_project"]), {"pick": dice.random()}
        )
        at += dice.uniform(2, 4)


# What goes wrong.

HARM = [
    *["restart_postgres", "cut_commit"] * 2,
    *["insert_gate", "lock_structures", "make_read_only", "jam_notify", "silence_direct", "silence_pooled"],
    "drop_packets",
    *["hold_snapshot", "set_worker_clock"],
    *["step_clock"] * 3,
]
_KILLS = ["kill_process", "kill_tree", "kill_server", "kill_process"] * 12
_MOMENTS = {"lock_structures": (2, 4), "insert_gate": (2, 4), "make_read_only": (1, 4), "jam_notify": (2, 5),
            "silence_direct": (2, LEASE + 2), "silence_pooled": (1, LEASE + 2), "hold_snapshot": (5, 15),
            "fill_disk": (1, 3)}  # fmt: skip
_MINUTES = {**_MOMENTS, "lock_gate": (2, 60), "hold_snapshot": (60, 600), "jam_notify": (2, 30)}


def _faults(dice: random.Random, seconds: float, *, full_disk: bool, more_kills: bool) -> Iterator[Step]:
    bag = [*SAFE, *HARM, *(["fill_disk"] if full_disk else []), *(_KILLS if more_kills else [])]
    faults = Faults(
        lease=LEASE,
        trees=TREES,
        servers=SERVERS,
        gates=list(LIMITS),
        bag=bag,
        lasts=_MINUTES if seconds >= _LONG_RUN else _MOMENTS,
        pace=(0.3, 1.0) if more_kills else (0.6, 1.5),
        details=_details,
    )
    return plan_faults(dice, seconds, faults)


def _details(dice: random.Random, what: str, at: float) -> dict[str, Any]:
    match what:
        case "insert_gate":
            return {"key": f"storm:new-{int(at * 1000)}", "commit": dice.random() < 0.5}
        case "step_clock":
            return {"seconds": 600 if dice.random() < 0.3 else dice.uniform(10, 40)}
        case "set_worker_clock":
            return {"error": dice.choice([-600.0, 600.0, -2.0, 0.0])}
        case "silence_direct" | "silence_pooled":
            return {"cut": dice.random() < 0.5}
        case "drop_packets":
            return {"way": dice.randrange(2)}
        case "cut_commit":
            return {"when": dice.choice(["before", "after"])}
    return {}

"""A proof with the user's own actors, on a scratch database of the user's own server: what `callboard prove` runs."""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.prove.cluster import Plan, Tree
from deploy.prove.journal import VARIABLE, Journal
from deploy.prove.readers import Readers
from deploy.prove.receiver import Receiver
from deploy.prove.requests import Requests
from deploy.prove.run import Run
from deploy.prove.samples import Sample
from deploy.prove.schedule import Faults, Step, plan_faults, plan_verbs
from deploy.prove.verdict import Verdict
from deploy.prove.work import Work
from state.database import close_database
from state.database.notifier import flush_hints
from state.proof.scratch import make_scratch_database
from state.schema.migration import migrate
from state.settings import get_settings

_TREES = 3
_SERVERS = 2
_ATTEMPTS = 100  # so that no task dies of the kills alone
_EVENTS = [None, ["completed", "canceled", "dead"], ["running", "completed", "canceled", "dead"]]
_RECORDER = "deploy.prove.recorder"


class OwnWork(Work):
    """A task that dies has ended: the user's code has failed, with a reason."""

    ended = frozenset({"dead"})

    def treat_dead(self, tasks: list[str]) -> None:
        """Leaves them as they are."""


class OwnRun(Run):
    lease, pulse = 6.0, 1.0
    may_die = True
    notes_calls = False

    def __init__(
        self, seed: int, seconds: float, folder: Path, say: Callable[[str], None], samples: Sequence[Sample]
    ) -> None:
        super().__init__(seed, seconds, folder, say)
        self._samples = samples

    def make_plan(self, receiver: Receiver) -> Plan:
        actors = ",".join([*get_settings().actors, _RECORDER])
        environment = {**self.settings(receiver), "CALLBOARD_ACTORS": actors, VARIABLE: str(self.tasks_journal)}
        return Plan(environment, [Tree(2, 4), *[Tree(1, 4)] * (_TREES - 1)], [{}] * _SERVERS)

    def make_work(self, journal: Journal, requests: Requests, readers: Readers, receiver: Receiver) -> Work:
        return OwnWork(journal, requests, readers, receiver.url)

    def make_steps(self) -> list[Step]:
        dice = random.Random(self.seed)  # noqa: S311
        gates = sorted({gate for sample in self._samples for gate in sample.gates})
        faults = Faults(self.lease, _TREES, _SERVERS, gates, pace=(0.8, 2.0))
        steps = [
            *_plan_submissions(dice, self.seconds, self._samples),
            *plan_verbs(dice, self.seconds),
            *plan_faults(dice, self.seconds, faults),
        ]
        return sorted(steps, key=lambda step: step.at)


def _plan_submissions(dice: random.Random, seconds: float, samples: Sequence[Sample]) -> Iterator[Step]:
    at = 0.0
    while at < seconds:
        sample = dice.choice(samples)
        task: dict[str, Any] = {"actor": sample.actor, "payload": sample.payload, "max_attempts": _ATTEMPTS}
        if sample.over_http and dice.random() < 0.7:
            details = {"events": dice.choice(_EVENTS), "followed": dice.random() < 0.7, "snapshot": dice.random() < 0.3}
            yield Step(at, "submit_http", {"task": task, **details})
        else:
            yield Step(at, "submit", {"tasks": [task] * dice.choice([1, 2, 3])})
        at += dice.uniform(0.3, 0.8)


def prove(seed: int, seconds: float, samples: Sequence[Sample], folder: Path, say: Callable[[str], None]) -> Verdict:
    """`folder` gets the journals, the logs of the programs, and what the actors store."""
    with make_scratch_database() as url, _settings(url, folder):
        migrate()
        return OwnRun(seed, seconds, folder, say, samples).run()


@contextmanager
def _settings(url: str, folder: Path) -> Iterator[None]:
    """Points this process, and those that it starts, at the scratch database and a data folder of their own."""
    kept = dict(os.environ)
    actors = ",".join(get_settings().actors)
    os.environ.update({
        "CALLBOARD_DATABASE_URL": url,
        "CALLBOARD_DIRECT_URL": url,
        "CALLBOARD_DATA_DIR": str(folder),
        "CALLBOARD_ACTORS": actors,
    })  # fmt: skip
    _start_over()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
        _start_over()


def _start_over() -> None:
    flush_hints()
    close_database()
    get_settings.cache_clear()

"""Enters the gates that the actors declare when a worker boots: they can be seen, and set, before any task has come."""

from typing import Any

from dramatiq import Worker
from dramatiq.middleware import Middleware

from broker import workplace
from state import catalog
from state.gates import declare


class Gatekeeper(Middleware):
    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        workplace.current().on_open.append(_declare_all)


def _declare_all() -> None:
    declare(gate for spec in catalog.actors() if spec.known_gates for gate in spec.known_gates())

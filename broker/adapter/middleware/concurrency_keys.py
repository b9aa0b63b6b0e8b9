"""Enters the gates that the actors declare when a worker boots: they can be seen, and set, before any task has come."""

import threading
import time
from contextlib import suppress
from typing import Any

from dramatiq import Worker
from dramatiq.middleware import Middleware

from broker.worker import process
from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.gates import Gate
from state.gates.declarations import declare
from state.tasks import catalog

_AGAIN = 0.5  # seconds


class ConcurrencyKeys(Middleware):
    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        process.current().on_open.append(_declare_all)


def _declare_all() -> None:
    busy = declare(gate for spec in catalog.actors() if spec.known_gates for gate in spec.known_gates())
    if busy:  # somebody has them locked; a worker does not wait for that
        threading.Thread(target=_declare_later, args=(busy,), name="gates", daemon=True).start()


def _declare_later(gates: list[Gate]) -> None:
    while gates:
        time.sleep(_AGAIN)
        with suppress(NotReady, *TRANSIENT):
            gates = declare(gates)

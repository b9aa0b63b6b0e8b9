"""Runs tasks on Dramatiq workers: claim, settle, pulse, middleware. Actors need only these names."""

from broker.context import Context
from broker.failures import TokenLimitExceeded
from broker.interrupts import CancelRequested, LeaseGone, ShuttingDown, Stopped, TimeLimitExceeded
from broker.taskactor import task
from broker.taskbroker import TaskBroker

__all__ = [
    "CancelRequested",
    "Context",
    "LeaseGone",
    "ShuttingDown",
    "Stopped",
    "TaskBroker",
    "TimeLimitExceeded",
    "TokenLimitExceeded",
    "task",
]

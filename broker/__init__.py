"""Runs tasks on Dramatiq workers. People who write actors need only the names that are imported here."""

from broker.adapter.broker import TaskBroker
from broker.agent import agent, run_agent
from broker.async_context import AsyncContext
from broker.context import Context
from broker.execution.failures import TokenLimitExceeded
from broker.execution.interrupts import CancelRequested, LeaseGone, ShuttingDown, Stopped, TimeLimitExceeded
from broker.task import task

__all__ = [
    "AsyncContext",
    "CancelRequested",
    "Context",
    "LeaseGone",
    "ShuttingDown",
    "Stopped",
    "TaskBroker",
    "TimeLimitExceeded",
    "TokenLimitExceeded",
    "agent",
    "run_agent",
    "task",
]

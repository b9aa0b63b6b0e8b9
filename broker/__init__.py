"""Runs tasks on Dramatiq workers: claim, settle, pulse, middleware. Actors need only these names."""

from broker.context import Context
from broker.taskactor import task
from broker.taskbroker import TaskBroker

__all__ = ["Context", "TaskBroker", "task"]

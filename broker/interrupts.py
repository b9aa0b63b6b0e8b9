"""Why running code is stopped from outside. Raised into its thread (or its coroutine is canceled)."""

from dramatiq.middleware import Interrupt


class Stopped(Interrupt):
    """Base: Callboard wants this execution to end now."""


class CancelRequested(Stopped):
    """Somebody asked for it."""


class ShuttingDown(Stopped):
    """The process ends; the task goes back to the queue and keeps its attempt."""


class LeaseGone(Stopped):
    """The task belongs to somebody else by now. Nothing more may be written for it."""

"""The middleware of the broker, one file each; this list is their order."""

from typing import Any

from dramatiq.middleware import (
    AgeLimit,
    Callbacks,
    Pipelines,
    Retries,
    ShutdownNotifications,
    TimeLimit,
)

from broker.adapter.middleware.concurrency_keys import ConcurrencyKeys
from broker.adapter.middleware.event_loop import EventLoop
from broker.adapter.middleware.lifecycle import Lifecycle
from broker.adapter.middleware.plain_load import PlainLoad
from broker.adapter.middleware.refusals import Refusals


def make_middleware() -> list[Any]:
    return [
        EventLoop(),  # the first: it is there before everything else, and ends last
        Lifecycle(),
        ConcurrencyKeys(),
        Refusals(),
        # Dramatiq's own, for plain actors. For tasks, the state store and the watchdog do this.
        AgeLimit(),
        TimeLimit(),
        ShutdownNotifications(),
        Callbacks(),
        Pipelines(),
        Retries(),
        PlainLoad(),
    ]

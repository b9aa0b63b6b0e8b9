"""What surrounds the actors, one file each; the order is this list."""

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


def standard_middleware() -> list[Any]:
    return [
        Lifecycle(),
        ConcurrencyKeys(),
        EventLoop(),
        # Dramatiq's own, for plain actors. The state store and the watchdog see to the tasks.
        AgeLimit(),
        TimeLimit(),
        ShutdownNotifications(),
        Callbacks(),
        Pipelines(),
        Retries(),
        PlainLoad(),
    ]

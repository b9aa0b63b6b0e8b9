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

from broker.middleware.concurrency_keys import ConcurrencyKeys
from broker.middleware.eventloop import EventLoop
from broker.middleware.lifecycle import Lifecycle
from broker.middleware.plainload import PlainLoad


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

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

from broker.middleware.eventloop import EventLoop
from broker.middleware.gatekeeper import Gatekeeper
from broker.middleware.plainload import PlainLoad
from broker.middleware.workday import Workday


def standard_middleware() -> list[Any]:
    return [
        Workday(),
        Gatekeeper(),
        EventLoop(),
        # Dramatiq's own. For tasks only the time limit acts: age and retries are the state store's.
        AgeLimit(),
        TimeLimit(),
        ShutdownNotifications(),
        Callbacks(),
        Pipelines(),
        Retries(),
        PlainLoad(),
    ]

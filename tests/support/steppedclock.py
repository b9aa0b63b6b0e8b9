"""For a worker process whose wall clock was stepped by 2 s after the others had started: imported by it among its
actors. The start times that psutil makes from that clock move with it."""

from typing import Any

import psutil

_create_time = psutil.Process.create_time


def _stepped(self: psutil.Process, *arguments: Any, **options: Any) -> float:
    return float(_create_time(self, *arguments, **options)) + 2


psutil.Process.create_time = _stepped  # type: ignore[method-assign]

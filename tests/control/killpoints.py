"""For workers that kill themselves: the steps of a media task are counted, and the process kills itself once, at a
planned step. The plan is a folder: the file `<prompt>` has the number of the step, and is removed at that step."""

import inspect
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from actors import mediafiles
from broker.context import Context
from providers.api import Api
from providers.media import registry
from state.media import generations
from state.workers import leases

_plan = Path(os.environ["KILL_PLAN"])
_steps: Counter[str] = Counter()
_current = ""
_lock = threading.Lock()


def _step(name: str) -> None:
    with _lock:
        _steps[_current] += 1
        with (_plan.parent / "steps.txt").open("a") as out:
            out.write(f"{_current} {_steps[_current]} {name}\n")
        file = _plan / _current
        if _current and file.exists() and int(file.read_text()) == _steps[_current]:
            file.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


def _counted(owner: Any, name: str) -> None:
    method = getattr(owner, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        global _current
        if name == "begin_generation":
            _current = kwargs["prompt"]
        _step(f"before {name}")
        try:
            return method(*args, **kwargs)
        finally:
            _step(f"after {name}")

    async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
        _step(f"before {name}")
        try:
            return await method(*args, **kwargs)
        finally:
            _step(f"after {name}")

    setattr(owner, name, async_wrapper if inspect.iscoroutinefunction(method) else wrapper)


for _owner, _name in (
    (generations, "begin_generation"),
    (generations, "finish_generation"),
    (Context, "save"),
    (Context, "progress"),
    (Api, "request"),
    (mediafiles, "download"),
    (mediafiles, "store_file"),
    (leases, "try_settle"),
):
    _counted(_owner, _name)
registry.get("midjourney").poll_seconds = 0.02  # type: ignore[misc]

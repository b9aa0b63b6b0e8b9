"""For workers that kill themselves: each step of an assistant's task is written down, and the process kills itself
once, at a planned one. The plan is a folder: the file `<instruction>` names the step, and is removed at that step."""

import os
import signal
from pathlib import Path
from typing import Any

from actors.assistant.conversation import Conversation
from actors.assistant.tools import Toolbox
from broker.context import Context
from state.workers import leases

_plan = Path(os.environ["KILL_PLAN"])
_instruction = ""


def _step(name: str) -> None:
    with (_plan.parent / "steps.txt").open("a") as out:
        out.write(f"{_instruction}: {name}\n")
    file = _plan / _instruction
    if _instruction and file.exists() and file.read_text() == name:
        file.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


_init, _save, _run, _settle = Conversation.__init__, Context.save, Toolbox.run, leases.try_settle


def _note_instruction(self: Conversation, *args: Any) -> None:
    global _instruction
    _init(self, *args)
    _instruction = self._opening[1].content


def _save_in_steps(self: Context, **values: Any) -> None:
    [(key, turn)] = [(key, value) for key, value in values.items() if key.startswith("turn_")]
    name = f"save of {key} with {len(turn['results'])} results"
    _step(f"before {name}")
    _save(self, **values)
    _step(f"after {name}")


def _run_in_steps(self: Toolbox, call: Any) -> Any:
    result = _run(self, call)
    _step(f"after {call.name}")
    return result


def _settle_in_steps(*args: Any) -> Any:
    _step("before the end")
    return _settle(*args)


Conversation.__init__ = _note_instruction  # type: ignore[assignment,method-assign]
Context.save = _save_in_steps  # type: ignore[method-assign]
Toolbox.run = _run_in_steps  # type: ignore[method-assign]
leases.try_settle = _settle_in_steps  # type: ignore[assignment]

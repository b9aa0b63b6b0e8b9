"""The output of a program, as events of its task."""

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker.context import Context

_EVENT_GAP = 0.4  # seconds between two events of output
_EVENT_SIZE = 8_000  # characters
_OUTPUT_LIMIT = 200_000  # characters in all events of one program


class OutputEvents:
    """Emits output as `log` events: a few a second, up to a limit. The result has the whole output."""

    def __init__(self, ctx: "Context") -> None:
        self._ctx = ctx
        self._text = ""
        self._left_out = 0
        self._total = 0
        self._next = 0.0

    def add(self, text: str) -> None:
        room = min(_EVENT_SIZE, _OUTPUT_LIMIT - self._total) - len(self._text)
        self._text += text[: max(room, 0)]
        self._left_out += len(text) - max(min(room, len(text)), 0)
        if time.monotonic() >= self._next:
            self._emit(self._text.rfind("\n") + 1 or (len(self._text) if self._left_out else 0))

    def finish(self) -> None:
        self._emit(len(self._text))
        if self._left_out:
            self._ctx.emit("log", {"text": f"… ({self._left_out} characters are left out here)\n"})

    def _emit(self, end: int) -> None:
        if end:
            self._ctx.emit("log", {"text": self._text[:end]})
            self._text = self._text[end:]
            self._total += end
            self._next = time.monotonic() + _EVENT_GAP

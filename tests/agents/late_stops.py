"""For a worker whose assistants wait for a stop when an answer is complete, just before it is saved."""

import time
from typing import Any

from actors.assistant.conversation import Conversation

_add = Conversation._add
_waited = False


def _wait_and_add(self: Conversation, completion: Any) -> None:
    global _waited
    while not _waited:
        _waited = self._ctx.canceled
        time.sleep(0.001)  # the interrupt is raised here
    _add(self, completion)


Conversation._add = _wait_and_add  # type: ignore[method-assign]

"""For a worker whose assistants wait for a stop when an answer is complete, just before it is saved."""

import asyncio
from typing import Any

from actors.assistant.conversation import Conversation

_add = Conversation._add
_waited = False


async def _wait_and_add(self: Conversation, completion: Any) -> None:
    global _waited
    while not _waited:
        _waited = self._ctx.canceled
        await asyncio.sleep(0.001)  # the interrupt is raised here
    await _add(self, completion)


Conversation._add = _wait_and_add  # type: ignore[method-assign]

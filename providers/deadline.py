"""A limit on the time that a whole request may take."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from providers.errors import NetworkTimeout


@contextlib.asynccontextmanager
async def limit_time(seconds: float) -> AsyncIterator[None]:
    """Raises NetworkTimeout in the block when its time is over. Read timeouts do not bound the total time, because a
    server can send one byte before each of them ends."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as late:
        if not limit.expired():
            raise
        raise NetworkTimeout(f"It took longer than {seconds:g} s") from late

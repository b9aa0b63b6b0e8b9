"""The subscription of one stream to the events of a subject."""

import asyncio

from taskapi.streams.batch import Batch
from taskapi.streams.channel import Channel
from taskapi.streams.sse import Piece
from taskapi.streams.subject import Subject


class Subscription:
    """Sends each event of its subject, in order and once, until it is over or the client does not keep up."""

    def __init__(
        self,
        channel: Channel,
        subject: Subject,
        its_id: str,
        position: int,
        may_be_over: bool,
        *,
        with_tracebacks: bool = True,
    ) -> None:
        self.subject = subject
        self.id = its_id
        self.position = position  # the n of the last event that was sent
        self.may_be_over = may_be_over  # the last known move may have finished it
        self.with_tracebacks = with_tracebacks
        self.behind = False  # the client reads slowly: the stream must read the events after the position itself
        self.last: Piece | None = None  # what the stream sends at its end
        self._channel = channel
        self._over = asyncio.Event()
        self._missed: tuple[int, int] | None = None

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def offer(self, batch: Batch) -> None:
        """Sends what is new in the batch."""
        if self._over.is_set() or not batch.after <= self.position < batch.last:
            return  # one that begins later was read before this one subscribed; the next read begins at its position
        rest = batch.skip_to(self.position)
        if not self._channel.send(rest.whole if self.with_tracebacks else rest.plain):
            self.behind = True
            self._over.set()
            return
        self.position = rest.last
        if rest.may_end is not None:
            self.may_be_over = rest.may_end

    def is_complete(self, last_event: int) -> bool:
        """Whether all events of the finished subject were sent. Those that a read has not found, although they were
        committed before it, are gone: an operator has detached the history of that time."""
        missed = (self.position, last_event)
        gone, self._missed = self._missed == missed, missed
        return self.position >= last_event or gone

    def end(self, last: Piece | None = None) -> None:
        """Takes no more events."""
        if not self._over.is_set():
            self.last = last
            self._over.set()

    async def wait(self) -> None:
        """Returns when it takes no more events."""
        await self._over.wait()

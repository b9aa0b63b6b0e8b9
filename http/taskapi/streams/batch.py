"""Batches of events: what many streams send is joined once for all of them, and shared."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from taskapi.streams.sse import EventFrame, Piece

_BYTES = 64 * 1024  # of a batch, unless a single frame is larger


class Batch:
    """Events of one subject: all of those after `after` up to `last`."""

    def __init__(self, frames: Sequence[EventFrame], after: int) -> None:
        self.after = after
        self.last = frames[-1].n
        self._frames = frames
        self._rests: dict[int, Batch] = {after: self}  # by the position where they begin

    @cached_property
    def may_end(self) -> bool | None:
        """Whether the subject may be finished after these events; None: they do not tell."""
        return next((frame.may_end for frame in reversed(self._frames) if frame.may_end is not None), None)

    @cached_property
    def whole(self) -> Piece:
        return Piece(b"".join([frame.text for frame in self._frames]))

    @cached_property
    def plain(self) -> Piece:
        """Without tracebacks, for those who may not see them."""
        if all(frame.plain is frame.text for frame in self._frames):
            return self.whole
        return Piece(b"".join([frame.plain for frame in self._frames]))

    def skip_to(self, position: int) -> "Batch":
        """Returns the rest after a position within the batch."""
        rest = self._rests.get(position)
        if rest is None:
            rest = self._rests[position] = Batch([frame for frame in self._frames if frame.n > position], position)
        return rest


def split(frames: Sequence[EventFrame], after: int) -> Iterator[Batch]:
    """Makes batches of a size that a connection takes at once, from all events that follow `after`."""
    start = size = 0
    for index, frame in enumerate(frames):
        if size and size + len(frame.text) > _BYTES:
            yield Batch(frames[start:index], after)
            start, size, after = index, 0, frames[index - 1].n
        size += len(frame.text)
    if frames:
        yield Batch(frames[start:], after)

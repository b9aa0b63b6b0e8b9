"""Lines of an answer. A line ends at \\n only: JSON may contain the other characters that end lines of text."""

from collections.abc import Iterator

import httpx2

from taskclient.effects import Frame


class LineSplitter:
    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that is not complete

    def split(self, chunk: bytes) -> Iterator[Frame]:
        first, *others = chunk.split(b"\n")
        self._rest.append(first)
        for part in others:
            line, self._rest = b"".join(self._rest), [part]
            yield Frame("line", line.decode())

    def end(self) -> None:
        """Raises an error of the transport if the answer has ended in the middle of a line."""
        if any(self._rest):
            raise httpx2.RemoteProtocolError("the last line is not complete")

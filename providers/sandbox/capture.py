"""The output of a command, up to a limit."""

_NOTE = "\n… ({} bytes cut out) …\n"


class Capture:
    """Keeps the beginning and the end, because the end of the output often tells the reason of a failure."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:  # not at each call, because it copies
            self._trim()

    @property
    def truncated(self) -> bool:
        self._trim()
        return self._cut > 0

    def text(self) -> str:
        if not self.truncated:
            return decode_output(bytes(self._head + self._tail))
        return decode_output(bytes(self._head)) + _NOTE.format(self._cut) + decode_output(bytes(self._tail))

    def _trim(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            self._cut += over
            del self._tail[:over]


def decode_output(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")

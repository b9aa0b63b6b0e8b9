"""The parts of an answer that leave together."""

import asyncio

from taskapi.guard.joined_writes import JoinedWrites


class RecordingTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[bytes | str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def close(self) -> None:
        self.done.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.done


def test_what_is_written_in_one_step_leaves_together() -> None:
    async def answer_twice() -> list[bytes | str]:
        transport = RecordingTransport()
        joined = JoinedWrites(transport)
        joined.write(b"head ")
        joined.write(b"body")
        assert not transport.done
        await asyncio.sleep(0)
        joined.write(b"the next answer")
        await asyncio.sleep(0)
        return transport.done

    assert asyncio.run(answer_twice()) == [b"head body", b"the next answer"]


def test_what_was_written_before_goes_first() -> None:
    async def close() -> list[bytes | str]:
        transport = RecordingTransport()
        joined = JoinedWrites(transport)
        joined.write(b"head")
        joined.flush()
        joined.direct.write(b"an event of a stream")
        joined.write(b"last")
        joined.close()
        assert joined.is_closing()
        await asyncio.sleep(0)
        return transport.done

    assert asyncio.run(close()) == [b"head", b"an event of a stream", b"last", "closed"]


def test_a_large_body_does_not_wait_for_the_end_of_the_step() -> None:
    """The transport says when to stop, and can do so only if it gets what is written."""

    async def send_much() -> list[bytes | str]:
        transport = RecordingTransport()
        joined = JoinedWrites(transport)
        joined.write(b"head")
        joined.write(bytes(65536))
        return list(transport.done)

    assert asyncio.run(send_much()) == [b"head" + bytes(65536)]

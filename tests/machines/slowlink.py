"""A slow link, in front of a server: `python -m tests.machines.slowlink ADDRESS PORT TARGET_PORT`. Everything arrives
late, and each direction of a connection stands still every now and then, as TCP does when packets are lost. (The
kernel's own netem is not everywhere.)"""

import asyncio
import random
import sys
from contextlib import suppress

_DELAY = (0.03, 0.06)  # seconds, each way
_STANDSTILL = 0.6
_EVERY = 25  # pieces, on average

_dice = random.Random(7)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(due - loop.time(), 0))
            writer.write(piece)
            await writer.drain()
            if not piece:
                writer.close()
                return

    delivering = asyncio.create_task(deliver())
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            stands_still = _dice.random() < 1 / _EVERY
            pieces.put_nowait((loop.time() + _dice.uniform(*_DELAY) + stands_still * _STANDSTILL, piece))
    pieces.put_nowait((0, b""))
    with suppress(ConnectionError):
        await delivering


async def main(address: str, port: int, target_port: int) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server, from_server = await asyncio.open_connection(address, target_port)
        await asyncio.gather(_carry(reader, from_server), _carry(to_server, writer))

    async with await asyncio.start_server(accept, address, port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

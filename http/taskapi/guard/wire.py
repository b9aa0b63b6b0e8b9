"""The connection of a request, for answers that write to it themselves: the streams, of which there are thousands. Only
our own protocol (`connections`) offers it; other servers, and Starlette's test client, do not."""

import asyncio
import weakref
from typing import Any, Protocol

from starlette.types import Scope

_NAME = "wire"


class Writer(Protocol):
    """Who writes to the connection, and is told when to wait, and that it is gone."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def lose(self) -> None: ...


class Wire(Protocol):
    def has_whole_body(self) -> bool:
        """Whether the body of the request has arrived. It has if that of a later request has."""

    def attach(self, writer: Writer) -> asyncio.Transport:
        """Returns the transport. From now on the writer, and nobody else, cares about a client that reads slowly."""

    def detach(self) -> None: ...


def offer_wire(state: dict[str, Any], wire: Wire) -> dict[str, Any]:
    """Returns the state that uvicorn gives to each request, with the connection in it."""
    return {**state, _NAME: weakref.ref(wire)}


def find_wire(scope: Scope) -> Wire | None:
    reference = scope.get("state", {}).get(_NAME)
    wire: Wire | None = reference and reference()
    return wire

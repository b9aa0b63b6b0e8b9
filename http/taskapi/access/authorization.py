"""Authorization: decides who calls, and whether the caller may use an operation."""

from typing import TYPE_CHECKING

from starlette.requests import Request

from state.access.caller import SYSTEM, Caller

if TYPE_CHECKING:
    from taskapi.api.operation import Operation


async def authorize(request: Request, operation: "Operation") -> None:  # noqa: ARG001
    """Sets the caller of a request. Raises a problem if the caller may not use the operation."""
    request.state.caller = SYSTEM


def get_caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller

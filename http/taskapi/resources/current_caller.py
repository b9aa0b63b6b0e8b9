"""GET /caller: who the caller is to this server, and what it may do."""

from collections.abc import Sequence

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.access.caller import Role
from taskapi.access.authorization import get_caller, is_permitted
from taskapi.api.bodies import send_json
from taskapi.api.openapi_parameters import strip_converters
from taskapi.api.operation import PREFIX, Operation


class CallerView(BaseModel):
    """The owner of an API key; without keys, a program of the server's machine."""

    name: str | None = Field(description="The name of the key.")
    role: Role
    tenant: str | None = Field(description="Everything of other tenants is hidden; null: all is visible.")
    commands: bool = Field(description="Whether work that needs the role operator may be given.")
    operations: list[str] = Field(description="All operations that the caller may use: `POST /api/v1/tasks`.")


def make_operation(operations: Sequence[Operation]) -> Operation:
    """Makes the operation. It knows all operations, so that clients need not know the rules."""

    async def get_one(request: Request) -> Response:
        caller = get_caller(request)
        permitted = [
            f"{each.method} {strip_converters(path)}"
            for each in operations
            if is_permitted(caller, each)
            for path in each.paths
        ]
        view = CallerView(
            name=caller.name,
            role=caller.role,
            tenant=caller.tenant,
            commands=caller.commands,
            operations=permitted,
        )
        return send_json(view, headers={"Cache-Control": "no-store"})

    return Operation(
        "GET", f"{PREFIX}/caller", get_one, "Show who calls, and what it may do", {200: CallerView},
        role="reader", scope="any",
    )  # fmt: skip

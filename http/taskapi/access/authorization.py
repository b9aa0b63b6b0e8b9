"""Authorization: decides who calls, and whether the caller may use an operation."""

from typing import TYPE_CHECKING

from starlette.requests import Request

from state.access.caller import Caller
from state.database.errors import DatabaseError
from state.errors import NotReady
from taskapi.access.control import AccessControl
from taskapi.access.credentials import refuse_key_in_url
from taskapi.api.problems import Problem

if TYPE_CHECKING:
    from taskapi.api.operation import Operation


async def authorize(request: Request, operation: "Operation") -> None:
    """Sets the caller of a request. Raises a problem if the caller may not use the operation. Nothing of the body has
    been read by then."""
    refuse_key_in_url(request)
    if operation.role == "anyone":
        return  # such as /livez, which must not need the database
    caller = await get_access(request).identify(request, by_token=operation.by_token)
    require_permission(caller, operation)
    request.state.caller = caller


def require_permission(caller: Caller, operation: "Operation") -> None:
    """Raises a 403 unless the role and the tenant of the caller allow the operation."""
    role = operation.role
    if role != "anyone" and not caller.has_role(role):
        raise Problem("forbidden", f"This needs a key with the role {role}; yours has the role {caller.role}.")
    if operation.scope == "all" and caller.tenant is not None:
        raise Problem("forbidden", f"This concerns all tenants, and your key belongs to tenant {caller.tenant}.")


def is_permitted(caller: Caller, operation: "Operation") -> bool:
    try:
        require_permission(caller, operation)
    except Problem:
        return False
    return True


def get_caller(request: Request) -> Caller:
    """Returns the caller of an operation that is not for anyone."""
    caller: Caller = request.state.caller
    return caller


async def find_caller(request: Request) -> Caller | None:
    """Returns the caller of an operation that is for anyone; None if the request does not prove who it is of."""
    try:
        return await get_access(request).identify(request, by_token=False)
    except (Problem, DatabaseError, NotReady):
        return None


def get_access(request: Request) -> AccessControl:
    access: AccessControl = request.app.state.access
    return access

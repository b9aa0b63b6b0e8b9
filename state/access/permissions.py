"""What a caller may do: for which tenant, with which work, in which priority. Every verb that creates work, or lets it
run again, asks here."""

from typing import Protocol

from state.access.caller import Caller, Role
from state.errors import Forbidden
from state.tasks.priorities import CRITICAL


class Work(Protocol):
    """An actor or an agent, as its declaration describes it."""

    @property
    def role(self) -> Role: ...  # that a caller needs

    @property
    def title(self) -> str: ...  # for messages, such as "actor embedding"


def may_run_all(caller: Caller) -> bool:
    """Whether there is no work that the caller may not give."""
    return caller.has_role("operator") and caller.commands


def require_may_run(caller: Caller, work: Work) -> None:
    """Raises Forbidden if the caller may not give this actor or agent work."""
    if not caller.has_role(work.role):
        raise Forbidden(f"The {work.title} needs a key with the role {work.role}; yours has the role {caller.role}.")
    if work.role == "operator" and not caller.commands:
        raise Forbidden(
            f"The {work.title} is off on a server without API keys. Set CALLBOARD_COMMANDS=1, or create a key with the "
            "role operator (callboard keys create) and use it."
        )


def require_may_prioritize(caller: Caller, priority: int | None) -> None:
    """Raises Forbidden if the caller may not ask for this priority. What an agent's declaration says is not asked for:
    None."""
    if priority == CRITICAL and not caller.has_role("operator"):
        raise Forbidden(f"Priority 0 (critical) needs a key with the role operator; yours has the role {caller.role}.")


def choose_tenant(caller: Caller, asked: str | None) -> str | None:
    """Returns the tenant of something that the caller creates. Raises Forbidden if it asks for another one than its
    own."""
    if caller.tenant is None:
        return asked
    if asked not in (None, caller.tenant):
        raise Forbidden(f"Your key belongs to tenant {caller.tenant}.")
    return caller.tenant


def require_no_tenant(caller: Caller) -> None:
    """Raises Forbidden if the caller belongs to a tenant: for what concerns the system as a whole."""
    if caller.tenant is not None:
        raise Forbidden(f"This concerns all tenants; your key belongs to tenant {caller.tenant}.")

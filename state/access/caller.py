"""The caller of a verb: its role, and the tenant whose rows it may see and change."""

from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal["reader", "submitter", "operator"]

ROLES: tuple[Role, ...] = get_args(Role)
"""Each role may do what those before it may."""


@dataclass(frozen=True, slots=True)
class Caller:
    role: Role
    tenant: str | None = None  # rows of other tenants, and rows without a tenant, do not exist for it; None: all do
    key_id: str | None = None
    name: str | None = None  # the name of its key: what the history says of who asked
    commands: bool = True  # whether it may give work to actors and agents that need the role operator

    def has_role(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


SYSTEM = Caller("operator")
"""Python code that has the database: nothing is refused."""

"""The secrets that webhooks are signed with: those of a tenant, and those of tasks without a tenant. Each has a current
one, made when it is first needed; after a rotation the ones before it sign as well, until they expire."""

from dataclasses import dataclass, field
from datetime import datetime

from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant
from state.database import Row, fetch, retrying
from state.errors import InvalidPayload
from state.webhooks.signatures import make_secret

DEFAULT_OVERLAP = 24 * 3600.0
MAX_OVERLAP = 30 * 24 * 3600.0
MAX_SIGNING = 10  # secrets of a tenant: each adds a signature to a header, and receivers refuse long headers


@dataclass(frozen=True, slots=True)
class Secret:
    tenant: str | None
    secret: str = field(repr=False)
    created_at: datetime
    expires_at: datetime | None  # None: the current one

    @classmethod
    def from_row(cls, row: Row) -> "Secret":
        return cls(row["tenant"] or None, row["secret"], row["created_at"], row["expires_at"])


def show_secret(tenant: str | None = None, *, caller: Caller = SYSTEM) -> Secret:
    """Returns the current secret of a tenant, or of tasks without one. Makes it if there is none."""
    return get_signing_secrets(choose_tenant(caller, tenant))[0]


@retrying
def get_signing_secrets(tenant: str | None) -> list[Secret]:
    """Returns the secrets that a delivery is signed with, the current one first."""
    found = _read(tenant)
    if not found or found[0].expires_at is not None:
        fetch("webhook_secret_add", {"tenant": tenant or "", "secret": make_secret()})
        found = _read(tenant)
    return found


def rotate_secret(
    tenant: str | None = None, overlap_seconds: float = DEFAULT_OVERLAP, *, caller: Caller = SYSTEM
) -> Secret:
    """Makes a new secret the current one, and returns it. The one before it goes on signing for so many seconds; with
    0, a secret that has become known signs nothing any more."""
    if not 0 <= overlap_seconds <= MAX_OVERLAP:
        raise InvalidPayload(f"overlap_seconds: must be 0 to {MAX_OVERLAP:g} seconds", "overlap_seconds")
    owner = choose_tenant(caller, tenant)
    if overlap_seconds and len(_read(owner)) >= MAX_SIGNING:
        raise InvalidPayload(
            f"overlap_seconds: {MAX_SIGNING} secrets sign already. Wait until one expires, or rotate with 0: "
            "only the new one signs then.",
            "overlap_seconds",
        )
    secret = make_secret()
    _rotate({"tenant": owner or "", "secret": secret, "overlap": overlap_seconds})
    return get_signing_secrets(owner)[0]


@retrying
def list_secrets(tenant: str | None = None, *, caller: Caller = SYSTEM) -> list[Secret]:
    """Returns all secrets that sign now, those of one tenant together, the current one first. `tenant` None: of all
    tenants that the caller sees."""
    if caller.tenant is not None:
        return _read(caller.tenant) if tenant in (None, caller.tenant) else []
    return [Secret.from_row(row) for row in fetch("webhook_secrets", {"tenant": tenant})]


def _read(tenant: str | None) -> list[Secret]:
    return [Secret.from_row(row) for row in fetch("webhook_secrets", {"tenant": tenant or ""})]


@retrying
def _rotate(parameters: dict[str, str | float]) -> None:
    """The secret is made by the caller, so a repetition after a lost connection changes nothing."""
    fetch("webhook_secret_rotate", parameters)

"""API keys. A key is `cbk_<id>_<secret>`: its row is found by the id, and only the SHA-256 of the whole is stored. The
secret is random and long, so a slow hash would protect nothing more."""

import hashlib
import re
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from state import jsonsafe
from state.access.caller import ROLES, SYSTEM, Caller, Role
from state.database import Row, fetch, fetch_one, retrying
from state.errors import Forbidden, InvalidPayload, KeyNotFound, LastOperatorKey
from state.logs import log_request
from state.tasks.ids import is_key_id, new_key_id

MAX_NAME = 200
MAX_RATE_LIMIT = 1_000_000

_KEY = re.compile(r"cbk_([0-9a-f]{32})_[0-9A-Za-z]{43}")
_SECRET_CHARACTERS = string.ascii_letters + string.digits
_SECRET_LENGTH = 43  # of 62 characters: 256 bits
_REVOKED = "Your key has been revoked."
_READ_PATIENCE = 3.0  # seconds that a server waits for the keys: requests wait for them as well


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    name: str
    role: Role
    tenant: str | None
    rate_limit: int | None
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None


@dataclass(frozen=True, slots=True)
class ValidKey:
    """What a server must know of a key."""

    caller: Caller
    secret_hash: bytes
    rate_limit: int | None


class ValidKeys(NamedTuple):
    configured: bool  # whether there is any key, also a revoked one
    by_id: dict[str, ValidKey]


def create_key(
    name: str,
    role: Role,
    *,
    tenant: str | None = None,
    rate_limit: int | None = None,
    caller: Caller = SYSTEM,
) -> tuple[ApiKey, str]:
    """Creates a key. Returns its row, and the key itself, which nobody can find out later."""
    _require_operator(caller)
    _check(name, role, tenant, rate_limit)
    key_id = new_key_id()
    secret = "".join(secrets.choice(_SECRET_CHARACTERS) for _ in range(_SECRET_LENGTH))
    key = f"cbk_{key_id.removeprefix('ck_')}_{secret}"
    row = _insert(
        {
            "id": key_id,
            "name": name,
            "role": role,
            "tenant": tenant,
            "secret_hash": hash_key(key).hex(),
            "rate_limit": rate_limit,
            "by": caller.name,
            "by_key": caller.key_id,
        }
    )
    if row is None:
        raise Forbidden(_REVOKED)
    log_request("key created", key_id=key_id, name=name, role=role, tenant=tenant, by=caller.name)
    return ApiKey(**row), key


@retrying
def list_keys(*, before: str | None = None, limit: int = 1000, caller: Caller = SYSTEM) -> list[ApiKey]:
    """Returns the keys that were created before the key `before`, newest first; revoked ones as well."""
    _require_operator(caller)
    return [ApiKey(**row) for row in fetch("keys", {"before": before, "limit": limit})]


def revoke_key(key_id: str, *, last: bool = False, caller: Caller = SYSTEM) -> ApiKey:
    """Revokes a key; one that is revoked stays as it is. `last`: also the last operator's key without a tenant."""
    _require_operator(caller)
    if not is_key_id(key_id):
        raise KeyNotFound(key_id)
    revoked = _revoke(key_id, last, caller)
    log_request("key revoked", key_id=key_id, name=revoked.name, by=revoked.revoked_by)
    return revoked


@retrying
def read_keys() -> ValidKeys:
    """Reads the keys that are not revoked, for a server's cache."""
    rows = fetch("keys_valid", {}, timeout=_READ_PATIENCE)
    if rows:
        return ValidKeys(True, {row["id"]: _make_valid_key(row) for row in rows})
    [row] = fetch("keys_exist", {}, timeout=_READ_PATIENCE)
    return ValidKeys(row["configured"], {})


@retrying
def record_key_uses(seconds_ago: Mapping[str, float]) -> None:
    """Notes when keys were last used, by their ids, in one statement."""
    fetch("key_uses", {"ids": list(seconds_ago), "seconds_ago": list(seconds_ago.values())})


def hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def parse_key_id(key: str) -> str | None:
    """Returns the id that a key names, or None if the text is not a key."""
    match = _KEY.fullmatch(key)
    return None if match is None else f"ck_{match[1]}"


@retrying
def _insert(row: Mapping[str, str | int | None]) -> Row | None:
    return fetch_one("key_create", row)


@retrying
def _revoke(key_id: str, last: bool, caller: Caller) -> ApiKey:
    row = fetch_one("key_revoke", {"id": key_id, "last": last, "by": caller.name, "by_key": caller.key_id})
    if row is None and (row := fetch_one("key", {"id": key_id})) is None:
        raise KeyNotFound(key_id)
    if row["revoked_at"] is None:
        own = None if caller.key_id is None else fetch_one("key", {"id": caller.key_id})
        if own is not None and own["revoked_at"] is not None:
            raise Forbidden(_REVOKED)
        raise LastOperatorKey(key_id)
    return ApiKey(**row)


def _make_valid_key(row: Row) -> ValidKey:
    caller = Caller(row["role"], tenant=row["tenant"], key_id=row["id"], name=row["name"])
    return ValidKey(caller, bytes.fromhex(row["secret_hash"]), row["rate_limit"])


def _require_operator(caller: Caller) -> None:
    if not caller.has_role("operator") or caller.tenant is not None:
        raise Forbidden("API keys are managed by operators without a tenant.")


def _check(name: str, role: str, tenant: str | None, rate_limit: int | None) -> None:
    for field, text in (("name", name), ("tenant", tenant)):
        if text is not None and not (0 < len(text) <= MAX_NAME and text.strip() == text and text.isprintable()):
            raise InvalidPayload(f"{field}: must be 1 to {MAX_NAME} printable characters", field)
        try:
            jsonsafe.check(text)
        except jsonsafe.UnsafeJson as unsafe:
            raise InvalidPayload(f"{field}: {unsafe}", field) from None
    if role not in ROLES:
        raise InvalidPayload(f"role: must be one of {', '.join(ROLES)}", "role")
    if rate_limit is not None and not 0 < rate_limit <= MAX_RATE_LIMIT:
        raise InvalidPayload(f"rate_limit: must be 1 to {MAX_RATE_LIMIT} requests a minute", "rate_limit")

"""`Idempotency-Key`: the same request twice does its work once."""

import hashlib
from collections.abc import Callable
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant
from state.database import AnyConnection, fetch, fetch_one, transaction
from state.errors import IdempotencyConflict, IdempotencyPending

Response = dict[str, Any]


def run_once(
    key: str,
    route: str,
    tenant: str | None,
    body: bytes,
    act: Callable[[AnyConnection], Response],
    *,
    caller: Caller = SYSTEM,
) -> tuple[Response, bool]:
    """Runs `act` and stores its response in the same transaction, or returns the response that was stored before.
    Returns also whether the response was stored before. If anything fails, nothing is written. Keys belong to tenants:
    `tenant` is what the request asks for, None the caller's own."""
    name = {"tenant": choose_tenant(caller, tenant) or "", "route": route, "key": key}
    digest = hashlib.sha256(body).hexdigest()
    with transaction() as own:
        if not (fetch_one("idempotency_lock", name, own) or {})["locked"]:
            raise IdempotencyPending(f"The first request with the key {key!r} is still under way. Try again.")
        known = fetch_one("idempotency_known", name, own)
        if known is not None:
            if known["body_hash"] != digest:
                raise IdempotencyConflict(f"The key {key!r} was used with another body.")
            return known["answer"], True
        response = act(own)
        fetch("idempotency_note", {**name, "body_hash": digest, "answer": jsonsafe.dump(response)}, own)
        return response, False

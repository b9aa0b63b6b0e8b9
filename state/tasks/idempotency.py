"""`Idempotency-Key`: the same request twice does its work once."""

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from state import jsonsafe
from state.database.pool import connection, fetch_one
from state.errors import IdempotencyConflict, IdempotencyPending

Answer = dict[str, Any]


def once(
    key: str, route: str, tenant: str | None, body: bytes, act: Callable[[psycopg.Connection[Any]], Answer]
) -> tuple[Answer, bool]:
    """Runs `act` in a transaction together with the note of its answer, or repeats the answer given before.

    Says also whether it is a repetition. If anything fails, neither the work nor the note is there.
    """
    name = {"tenant": tenant or "", "route": route, "key": key}
    digest = hashlib.sha256(body).hexdigest()
    with connection() as own, own.transaction():
        if not (fetch_one("idempotency_lock", name, own) or {})["locked"]:
            raise IdempotencyPending(f"The first request with the key {key!r} is still under way. Try again.")
        known = fetch_one("idempotency_known", name, own)
        if known is not None:
            if known["body_hash"] != digest:
                raise IdempotencyConflict(f"The key {key!r} was used with another body.")
            return known["answer"], True
        answer = act(own)
        stored = {**name, "body_hash": digest, "answer": Jsonb(answer, dumps=jsonsafe.dump)}
        fetch_one("idempotency_note", stored, own)
        return answer, False

"""Gates: all of them, one of them, and what an operator changes about it while everything runs."""

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from state.gates.operations import get_gate, list_gates, put_gate
from taskapi import cursors
from taskapi.bodies import parse_body, read_body
from taskapi.requests import GateBody, GateQuery, gate_key_of, parse_query
from taskapi.threads import call
from taskapi.views import GateView, Page, answer


async def get_gates(request: Request) -> Response:
    query = parse_query(request, GateQuery)
    # Keys may have any letters, cursors are ASCII.
    after = "" if query.cursor is None else unquote(cursors.decode(query.cursor, bool))
    found = [row for row in await call(request, list_gates) if row["key"] > after]
    items = [GateView.of(row) for row in found[: query.limit]]
    more = len(found) > len(items)
    return answer(Page[GateView](items=items, next_cursor=cursors.encode(quote(items[-1].key)) if more else None))


async def get_one(request: Request) -> Response:
    return answer(GateView.of(await call(request, get_gate, gate_key_of(request))))


async def put_one(request: Request) -> Response:
    key = gate_key_of(request)
    changes = parse_body(await read_body(request), GateBody).changes()
    return answer(GateView.of(await call(request, put_gate, key, **changes)))

"""Bodies of requests and responses. A request's body has a limited size, is strict JSON, and fits a model."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from state import jsonsafe
from state.settings import get_settings
from taskapi.api.problems import Problem

SMALL = 64 * 1024
"""The largest body, in bytes, that is parsed on the event loop, which serves everybody; and the limit of bodies that
carry no payload, prompt or items."""

_Body = TypeVar("_Body", bound=BaseModel)
_Parsed = TypeVar("_Parsed")


async def read_body(request: Request, model: type[_Body], *, large: bool = False) -> _Body:
    """Reads a body of at most SMALL bytes, or, if it is `large`, of CALLBOARD_MAX_BODY_BYTES."""
    return await parse(await read_raw_body(request, large=large), lambda raw: parse_body(raw, model))


async def read_optional_body(request: Request, model: type[_Body], *, large: bool = False) -> _Body:
    """Reads a body that may be missing; the model's defaults apply then."""
    raw = await read_raw_body(request, large=large)
    return await parse(raw, lambda raw: parse_body(raw, model)) if raw.strip() else model.model_validate({})


async def read_raw_body(request: Request, *, large: bool = False) -> bytes:
    """Returns the whole body. Raises a 413 as soon as the body is known to be too large, without reading the rest."""
    limit = get_settings().max_body_bytes
    if not large:
        limit = min(limit, SMALL)
    declared = request.headers.get("content-length", "")
    read = bytearray()
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    async for chunk in request.stream():
        read += chunk
        if len(read) > limit:
            raise _too_large(limit)
    return bytes(read)


async def parse(raw: bytes, parser: Callable[[bytes], _Parsed]) -> _Parsed:
    """Parses a body, in a thread if that may take a while."""
    return await run_in_threadpool(parser, raw) if len(raw) > SMALL else parser(raw)


def parse_body(raw: bytes, model: type[_Body]) -> _Body:
    if not raw.strip():
        raise Problem("empty-body", "Send a JSON object.")
    _require_utf8(raw)
    try:
        value = jsonsafe.parse(raw)
    except jsonsafe.UnsafeJson as unsafe:
        if not unsafe.path:
            raise Problem("invalid-json", str(unsafe)) from None
        raise Problem.at_unsafe_json("invalid-input", unsafe) from None
    if not isinstance(value, dict):
        raise Problem("invalid-input", "The body must be a JSON object.")
    try:
        return model.model_validate(value)
    except ValidationError as refused:
        raise Problem.of_validation("invalid-input", refused) from None


def send_json(view: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(view.model_dump_json(), status, headers, "application/json")


def _too_large(limit: int) -> Problem:
    return Problem("body-too-large", f"A body may have {limit} bytes at most.", {"limit": limit})


def _require_utf8(raw: bytes) -> None:
    """Python's json would also accept UTF-16 and UTF-32. No JSON text contains a NUL byte."""
    try:
        raw.decode()
    except UnicodeDecodeError as wrong:
        raise Problem("invalid-encoding", f"The body is not valid UTF-8 (byte {wrong.start}).") from None
    if b"\x00" in raw:
        raise Problem("invalid-encoding", "The body contains a NUL byte.")

"""Request bodies: bounded, strict JSON, checked by a model."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from state import jsonsafe
from state.settings import get_settings
from taskapi.problems import Problem, at_field

_Body = TypeVar("_Body", bound=BaseModel)


async def read_body(request: Request) -> bytes:
    """All of it, or a 413 as soon as it is known to be too large: what follows is never kept."""
    limit = get_settings().max_body_bytes
    declared = request.headers.get("content-length", "")
    read = bytearray()
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    async for chunk in request.stream():
        read += chunk
        if len(read) > limit:
            raise _too_large(limit)
    return bytes(read)


def _too_large(limit: int) -> Problem:
    return Problem("body-too-large", f"A body may have {limit} bytes at most.", {"limit": limit})


def parse_body(raw: bytes, model: type[_Body]) -> _Body:
    if not raw.strip():
        raise Problem("empty-body", "Send a JSON object.")
    _require_utf8(raw)
    try:
        value = jsonsafe.parse(raw)
    except jsonsafe.UnsafeJson as unsafe:
        if not unsafe.path:
            raise Problem("invalid-json", str(unsafe)) from None
        raise at_field("invalid-input", unsafe.path, str(unsafe).removeprefix(f"{unsafe.path}: ")) from None
    if not isinstance(value, dict):
        raise Problem("invalid-input", "The body must be a JSON object.")
    try:
        return model.model_validate(value)
    except ValidationError as refused:
        raise refusal("invalid-input", refused) from None


def refusal(token: str, refused: ValidationError) -> Problem:
    """The first of what is wrong."""
    first = refused.errors(include_url=False, include_context=False, include_input=False)[0]
    return at_field(token, ".".join(str(part) for part in first["loc"]), first["msg"])


def _require_utf8(raw: bytes) -> None:
    """Python's json would guess UTF-16 and UTF-32 as well; a NUL byte is in no JSON text."""
    try:
        raw.decode()
    except UnicodeDecodeError as wrong:
        raise Problem("invalid-encoding", f"The body is not valid UTF-8 (byte {wrong.start}).") from None
    if b"\x00" in raw:
        raise Problem("invalid-encoding", "The body contains a NUL byte.")

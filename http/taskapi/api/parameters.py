"""Parameters of the path and of the query that several resources use."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.requests import Request

from state import jsonsafe
from state.errors import TaskNotFound
from state.tasks.ids import is_task_id
from taskapi.api.problems import Problem

MAX_POSITION = 2**31 - 1  # the n of an event is an integer of four bytes
_MAX_KEY = 255  # characters of an Idempotency-Key

_Query = TypeVar("_Query", bound=BaseModel)


def _require_digits(value: object) -> object:
    """Pydantic would also accept 1.0 and 1_0."""
    if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
        raise ValueError("must be a whole number")
    return value


def _require_word(value: object) -> object:
    """Pydantic would also accept 1, yes, on and others."""
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value


Count = Annotated[int, BeforeValidator(_require_digits)]
Flag = Annotated[bool, BeforeValidator(_require_word)]
# The n of an event; 0 is before the first event. The range comes first: it would not be in the JSON schema otherwise.
Position = Annotated[int, Field(ge=0, le=MAX_POSITION), BeforeValidator(_require_digits)]


class TenantQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tenant: str | None = Field(None, min_length=1, max_length=200)


class TokenQuery(BaseModel):
    """The query of operations that take a stream token in place of a key. Access control reads it."""

    model_config = ConfigDict(extra="forbid")

    token: str | None = Field(None, description="A stream token, for clients that cannot send the key in a header.")


def parse_query(request: Request, model: type[_Query]) -> _Query:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Problem("invalid-parameter", "Give each parameter once.")
    try:
        jsonsafe.check(values)
        return model.model_validate(values)
    except jsonsafe.UnsafeJson as unsafe:
        raise Problem.at_unsafe_json("invalid-parameter", unsafe) from None
    except ValidationError as refused:
        raise Problem.of_validation("invalid-parameter", refused) from None


def parse_task_id(request: Request) -> str:
    task_id: str = request.path_params["task_id"]
    if not is_task_id(task_id):
        raise TaskNotFound(task_id)
    return task_id


def parse_idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _MAX_KEY and key.isascii() and key.isprintable()):
        message = f"must be 1 to {_MAX_KEY} printable characters"
        raise Problem.at_field("invalid-parameter", "Idempotency-Key", message)
    return key


def is_position(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= MAX_POSITION

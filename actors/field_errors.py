"""Errors of validators that check a part of the payload by another model."""

from collections.abc import Iterable

from pydantic_core import PydanticCustomError


def make_field_error(part: str, path: Iterable[int | str], message: str) -> PydanticCustomError:
    """Returns an error that names the field inside the part, such as `params.width`."""
    field = ".".join([part, *(str(step) for step in path)])
    return PydanticCustomError("refused", "{message}", {"message": message, "field": field})

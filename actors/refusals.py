"""A payload refused by a validator that knows more than its model: it still says which field."""

from collections.abc import Iterable

from pydantic_core import PydanticCustomError


def refused_field(part: str, path: Iterable[int | str], message: str) -> PydanticCustomError:
    field = ".".join([part, *(str(step) for step in path)])
    return PydanticCustomError("refused", "{message}", {"message": message, "field": field})

"""Models made from values that need no validation, such as rows of the database: there are thousands of them."""

from typing import Any, Self

from pydantic import BaseModel

_set = object.__setattr__  # pydantic's own is slower: it looks for a field first


class Unvalidated(BaseModel):
    @classmethod
    def _construct(cls, fields: dict[str, Any]) -> Self:
        """Makes an instance that has exactly these fields, which must be all. Sets the attributes as pickle does:
        model_construct takes several times as long."""
        made = cls.__new__(cls)
        _set(made, "__dict__", fields)
        _set(made, "__pydantic_fields_set__", set())
        _set(made, "__pydantic_extra__", None)
        _set(made, "__pydantic_private__", None)
        return made

"""Priorities in bodies: by number or by name."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from state.tasks.priorities import LOW, NAMES, parse_priority

Priority = Annotated[
    int,
    BeforeValidator(parse_priority),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": LOW}, {"enum": list(NAMES)}]}),
]

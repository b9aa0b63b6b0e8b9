"""Moments in time: strict ISO 8601 in requests, UTC in responses."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]")
_YEARS = range(1970, 9000)  # with any maximum age added, still a date that Python can represent


def _require_iso_text(value: object) -> object:
    """Pydantic would also accept numbers, and guess their unit."""
    if not isinstance(value, str) or _DATE.match(value) is None:
        raise ValueError("must be a text in ISO 8601, such as 2030-01-31T08:00:00Z")
    return value


def _require_known_year(value: datetime) -> datetime:
    if value.year not in _YEARS:
        raise ValueError(f"the year must be {_YEARS.start} to {_YEARS.stop - 1}")
    return value


Moment = Annotated[
    AwareDatetime, Field(strict=False), BeforeValidator(_require_iso_text), AfterValidator(_require_known_year)
]


def convert_to_utc(values: Mapping[str, Any]) -> dict[str, Any]:
    """Converts all moments of a row to UTC. A session that comes through a pooler may have any time zone."""
    return {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in values.items()}

"""Priorities: 0 to 3, or their names. Lower numbers start first."""

from typing import Any

CRITICAL, HIGH, MEDIUM, LOW = range(4)
NAMES = ("critical", "high", "medium", "low")  # by number
EXPECTED = f"must be 0 (first) to 3, or {', '.join(NAMES[:-1])} or {NAMES[-1]}"


def parse_priority(value: Any) -> int:
    """Returns the number of a priority that is given by number or by name. Raises ValueError."""
    if isinstance(value, str) and value in NAMES:
        return NAMES.index(value)
    if isinstance(value, int) and not isinstance(value, bool) and CRITICAL <= value <= LOW:
        return int(value)
    raise ValueError(EXPECTED)

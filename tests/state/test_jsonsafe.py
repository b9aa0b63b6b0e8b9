"""The quick look at a text must never let pass what the search would find."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from state import jsonsafe
from tests.support.observer import Observer

NASTY = st.sampled_from(
    ["\x00", "\\u0000", "NaN", "Infinity", "[" * 70, "\ud800", "a\udfffb", "{", '"', "ü", "\U0001f600"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NASTY
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text() | NASTY, inner), max_leaves=20)


def _verdict(judge: Callable[[Any], None], value: Any) -> str:
    try:
        judge(value)
    except jsonsafe.UnsafeJson as unsafe:
        return str(unsafe)
    return "safe"


@given(VALUES, st.integers(0, 70))
@settings(max_examples=500, deadline=None)
def test_both_say_the_same(value: Any, wrapped: int) -> None:
    for _ in range(wrapped):
        value = [value]
    assert _verdict(jsonsafe.check, value) == _verdict(jsonsafe._search, value)


def test_data_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(jsonsafe.UnsafeJson, match="nested deeper"):
        jsonsafe.check(endless)


@given(value=VALUES)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_safe_data_can_be_stored(connection: Observer, value: Any) -> None:
    if _verdict(jsonsafe.check, value) == "safe":
        connection.execute("SELECT %s AS value", [Jsonb(value, dumps=jsonsafe.dump)])  # Postgres would say if not

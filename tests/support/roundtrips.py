"""How often a connection waits for its server: libpq's own trace says who spoke when."""

import re
import tempfile
from collections.abc import Callable
from itertools import groupby
from typing import Any

import psycopg


def count_round_trips(connection: psycopg.Connection[Any], act: Callable[[], object]) -> int:
    with tempfile.TemporaryFile("w+") as trace:
        connection.pgconn.trace(trace.fileno())
        act()
        connection.pgconn.untrace()
        trace.seek(0)
        speakers = re.findall(r"^[^\t\n]+\t([FB])\t", trace.read(), re.MULTILINE)  # frontend, backend
    return [speaker for speaker, _ in groupby(speakers)].count("F")

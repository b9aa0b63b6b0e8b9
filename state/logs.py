"""Structured logs: one JSON line for each thing that happened."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from state.settings import get_settings


class _CurrentStderr(threading.local):
    """Dramatiq replaces sys.stderr after the fork; a logger that was made before must follow. Behind it is a pipe to
    another process, so lines that come together are written together."""

    _held: list[str] | None = None

    def write(self, text: str) -> int:
        if self._held is None:
            return sys.stderr.write(text)
        self._held.append(text)
        return len(text)

    def flush(self) -> None:
        if self._held is None:
            sys.stderr.flush()

    @contextmanager
    def together(self) -> Iterator[None]:
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            sys.stderr.write("".join(held))
            sys.stderr.flush()


_stderr = _CurrentStderr()
_encode = json.JSONEncoder(default=str).encode  # made once: json.dumps would make one for each line


def _serialize(line: object, **_options: object) -> str:
    return _encode(line)


def configure_logs() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_serialize),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(get_settings().log_level),
        logger_factory=structlog.WriteLoggerFactory(_stderr),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # a lost connection is reported where it hurts


log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def log_transitions(rows: list[dict[str, Any]], **common: Any) -> None:
    with _stderr.together():
        for row in rows:
            log.info("transition", task_id=row["id"], actor=row["actor"], epoch=row["epoch"], to=row["status"],
                     **{"from": row.get("before", "running"), "worker": row.get("worker_id"), **common})  # fmt: skip

"""Structured logs: one JSON line for each thing that happened."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import EventDict

from state.masking import mask, mask_data
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


class _MaskingFormatter(logging.Formatter):
    """What Dramatiq, uvicorn, httpx2 and psycopg have to say goes through Python's own logging."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        return mask(self._inner.format(record))


def _mask_line(_logger: object, _method: str, line: EventDict) -> EventDict:
    masked: EventDict = mask_data(line)
    return masked


def configure_logs() -> None:
    global _transitions
    renderer = structlog.processors.JSONRenderer(serializer=_serialize)
    levels = structlog.make_filtering_bound_logger(get_settings().log_level)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask_line,
            renderer,
        ],
        wrapper_class=levels,
        logger_factory=structlog.WriteLoggerFactory(_stderr),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    _transitions = structlog.wrap_logger(structlog.WriteLogger(_stderr), [renderer], levels).bind()  # type: ignore[arg-type]
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        if not isinstance(handler.formatter, _MaskingFormatter):
            handler.setFormatter(_MaskingFormatter(handler.formatter))
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # a lost connection is reported where it hurts


log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

# Thousands of lines with nothing in them that comes from outside: what is the same for all is said once.
_transitions = log


def log_transitions(rows: list[dict[str, Any]], **common: Any) -> None:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    always = {**structlog.contextvars.get_contextvars(), "level": "info", "timestamp": now}
    with _stderr.together():
        for row in rows:
            _transitions.info("transition", task_id=row["id"], actor=row["actor"], epoch=row["epoch"], to=row["status"],
                              **{"from": row.get("before", "running"), "worker": row.get("worker_id"), **common, **always})  # fmt: skip

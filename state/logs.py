"""Structured logs: one JSON line for each thing that happened."""

import logging
import sys
from typing import Any

import structlog

from state.settings import get_settings


class _CurrentStderr:
    """Dramatiq replaces sys.stderr after the fork; a logger that was made before must follow."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logs() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(get_settings().log_level),
        logger_factory=structlog.WriteLoggerFactory(_CurrentStderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # a lost connection is reported where it hurts


log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def log_transitions(rows: list[dict[str, Any]], **common: Any) -> None:
    for row in rows:
        log.info("transition", task_id=row["id"], actor=row["actor"], epoch=row["epoch"], to=row["status"],
                 **{"from": row.get("before", "running"), "worker": row.get("worker_id"), **common})  # fmt: skip

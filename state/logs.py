"""Structured logs: one JSON object per line."""

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal

import structlog
from structlog.typing import EventDict

from state.masking import mask, mask_data, may_announce
from state.settings import get_settings


class _CurrentStderr(threading.local):
    """Writes to the current sys.stderr: Dramatiq replaces it after the fork, and loggers are made before."""

    kept: list[str] | None = None  # lines that this thread writes later, all at once

    def write(self, text: str) -> int:
        if self.kept is None:
            return sys.stderr.write(text)
        self.kept.append(text)
        return len(text)

    def flush(self) -> None:
        if self.kept is None:
            sys.stderr.flush()


_stderr = _CurrentStderr()
_encode = json.JSONEncoder(default=str).encode  # json.dumps would make an encoder for each line
_quote = lru_cache(maxsize=1000)(_encode)  # the names of actors and workers repeat


@lru_cache(maxsize=1)
def _format_second(since_epoch: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_epoch))


def _serialize(line: object, **_options: object) -> str:
    return _encode(line)


class _MaskingFormatter(logging.Formatter):
    """Masks the messages of Dramatiq, uvicorn, httpx2 and psycopg, which use Python's own logging. What is logged while
    a request is served gets the request's id."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        text = mask(self._inner.format(record))
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id is None:
            return text
        first, newline, rest = text.partition("\n")  # a traceback may follow
        return f"{first} request_id={request_id}{newline}{rest}"


def _mask_line(_logger: object, _method: str, line: EventDict) -> EventDict:
    masked: EventDict = mask_data(line)
    return masked


def configure_logs(level: str | None = None) -> None:
    global _enabled_levels
    level = level or get_settings().log_level
    _enabled_levels = _LEVELS[_LEVELS.index(level) :]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask_line,
            structlog.processors.JSONRenderer(serializer=_serialize),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(_stderr),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    # uvicorn gives the root no handler: what other libraries log there is written by `lastResort`.
    for handler in {logging.lastResort, *(handler for logger in loggers for handler in logger.handlers)}:
        if handler is not None and not isinstance(handler.formatter, _MaskingFormatter):
            handler.setFormatter(_MaskingFormatter(handler.formatter))
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # lost connections are logged by the code that uses them
    # It logs the URL of each request, and some are secrets: signed downloads, webhooks of chat services.
    logging.getLogger("httpx2").setLevel(logging.WARNING)


log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Level = Literal["info", "warning", "error"]
_LEVELS = ("debug", "info", "warning", "error", "critical")
_enabled_levels: tuple[str, ...] = ()
_OF_ROW = "(of the row)"


def log_request(event: str, **fields: object) -> None:
    """Writes what somebody has asked for. Silent in a program that has not configured our logs: structlog would print
    to its stdout."""
    if "info" in _enabled_levels:
        log.info(event, **fields)


@contextmanager
def write_together() -> Iterator[None]:
    """The lines of this thread are written at the end of the block, in one call of the system."""
    kept: list[str] = []
    _stderr.kept = kept
    try:
        yield
    finally:
        _stderr.kept = None
        _stderr.write("".join(kept))
        _stderr.flush()


def log_transitions(rows: Sequence[dict[str, Any]], **common: str | None) -> None:
    log_transitions_as("info", rows, **common)


def log_transitions_as(level: Level, rows: Sequence[dict[str, Any]], **common: str | None) -> None:
    """Writes transitions as `log.info` would, several times faster, as there are thousands of them: made by hand, from
    values that need no masking (those that the application has bound do), and written to stderr in one call. Tasks that
    make the same move in a batch share a line, in which `tasks` has their ids and epochs."""
    if level not in _enabled_levels or not rows:
        return
    more = _format_bound(**({} if (by := common.get("by")) is None else {"by": by}))
    end = f'"level": "{level}", "timestamp": "{_format_now()}"{more}}}\n'
    before, worker = common.get("from", _OF_ROW), common.get("worker", _OF_ROW)
    moves: dict[tuple[str, str, str | None, str | None], list[dict[str, Any]]] = {}
    for row in rows:
        move = (
            row["actor"],
            row["status"],
            row.get("before", "running") if before is _OF_ROW else before,
            row.get("worker_id") if worker is _OF_ROW else worker,
        )
        moves.setdefault(move, []).append(row)
    _stderr.write("".join(_describe_move(*move, moved) + end for move, moved in moves.items()))
    _stderr.flush()


def _describe_move(actor: str, after: str, before: str | None, worker: str | None, moved: list[dict[str, Any]]) -> str:
    move = f'"actor": {_quote(actor)}, "to": "{after}", "from": {_quote(before)}, "worker": {_quote(worker)}'
    if len(moved) == 1:
        return f'{{"task_id": "{moved[0]["id"]}", "epoch": {moved[0]["epoch"]}, {move}, "event": "transition", '
    tasks = ", ".join([f'"{row["id"]}": {row["epoch"]}' for row in moved])
    return f'{{"tasks": {{{tasks}}}, {move}, "event": "transitions", '


def log_answer(client: str, method: str, path: str, status: int, seconds: float) -> None:
    """Writes that a request was answered, in the same way."""
    if "info" in _enabled_levels:
        _stderr.write(
            f'{{"client": {_quote(client)}, "method": {_encode(method)}, "path": {_encode(mask(path))}, '
            f'"status": {status}, "ms": {seconds * 1000:.1f}, "event": "request", "level": "info", '
            f'"timestamp": "{_format_now()}"{_format_bound()}}}\n'
        )
        _stderr.flush()


def _format_now() -> str:
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_format_second(seconds)}.{nanoseconds // 1000:06}Z"


def _format_bound(**more: str) -> str:
    """Returns what the application has bound, and more, as further members of a line."""
    bound = {**structlog.contextvars.get_contextvars(), **more}
    return "".join([_format_member(name, value) for name, value in bound.items()])


def _format_member(name: str, value: object) -> str:
    if may_announce(name):
        return f", {_encode(mask_data({name: value}))[1:-1]}"
    return f", {_quote(name)}: {_encode(mask_data(value))}"  # such as the id of a request, which each line has

"""A Parquet file of exported tasks: a row for each, what is nested as JSON text."""

import importlib
import json
from collections.abc import Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, BinaryIO, Self

from deploy.cli.exits import BAD_INPUT, Failure

_TEXTS = (
    "task_id", "actor", "queue", "lane", "status", "tenant", "target", "workflow_id", "dedup_key", "worker_id"
)  # fmt: skip
_NUMBERS = ("priority", "attempt", "max_attempts", "epoch")
_MOMENTS = ("created_at", "available_at", "started_at", "finished_at", "updated_at")
_NESTED = ("payload", "result", "error", "progress", "gates", "attempts", "events")  # as JSON
_ROWS, _BYTES = 10_000, 16 * 1024 * 1024  # of the lines that are collected for a group of rows


class ParquetFile:
    """Holds one group of rows. What was added before an error is in the file, which is complete."""

    def __init__(self, out: BinaryIO) -> None:
        try:
            self._arrow: Any = importlib.import_module("pyarrow")
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ModuleNotFoundError:
            raise Failure(
                BAD_INPUT, "Parquet needs pyarrow, which is not installed: pip install 'callboard[parquet]'."
            ) from None
        self._schema = self._arrow.schema(self._columns())
        self._writer = parquet.ParquetWriter(self._arrow.PythonFile(out, mode="w"), self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def _columns(self) -> Iterator[tuple[str, Any]]:
        arrow = self._arrow
        yield from ((name, arrow.string()) for name in _TEXTS)
        yield from ((name, arrow.int32()) for name in _NUMBERS)
        yield from ((name, arrow.timestamp("us", tz="UTC")) for name in _MOMENTS)
        yield from (("tokens", arrow.int64()), ("cost", arrow.float64()), ("error_type", arrow.string()))
        yield from ((name, arrow.large_string()) for name in _NESTED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write_group()
        self._writer.close()

    def add(self, line: str) -> None:
        task: dict[str, Any] = json.loads(line)
        self._rows.append({
            **{name: task[name] for name in (*_TEXTS, *_NUMBERS)},
            **{name: task[name] and datetime.fromisoformat(task[name]) for name in _MOMENTS},
            **{name: None if task[name] is None else json.dumps(task[name], ensure_ascii=False) for name in _NESTED},
            **task["usage"],
            "error_type": task["error"] and task["error"].get("type"),
        })  # fmt: skip
        self._bytes += len(line)
        if len(self._rows) >= _ROWS or self._bytes >= _BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._bytes = [], 0

"""Starts the bare servers, and runs the load clients against any server."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.harness import venvs
from tests.bench.harness.board import wait_port
from tests.bench.harness.processes import Children

_PACKAGE = "tests.bench.references"


def _environment(**settings: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "CALLBOARD_"))}
    return {**kept, "PYTHONPATH": str(venvs.ROOT), **settings}


@contextmanager
def bare_http(children: Children, folder: Path, database_url: str) -> Iterator[int]:
    """Its port."""
    options = ("--loop", "uvloop", "--http", "httptools", "--no-access-log", "--port", "0")
    command = ("-m", "uvicorn", f"{_PACKAGE}.bare_http:app", *options)
    with _served(children, folder / "bare_http.log", command, BENCH_DATABASE_URL=database_url) as port:
        yield port


@contextmanager
def bare_sse(
    children: Children, folder: Path, tasks: int, period: float, database_url: str | None = None
) -> Iterator[int]:
    """Its port. With a database, the events come from a process that commits them."""
    arguments = (str(tasks), str(period))
    settings = {"BENCH_DATABASE_URL": database_url} if database_url else {}
    with _served(children, folder / "bare_sse.log", ("-m", f"{_PACKAGE}.bare_sse", *arguments), **settings) as port:
        if database_url is None:
            yield port
            return
        writer = _start(children, folder / "bare_events.log", ("-m", f"{_PACKAGE}.bare_events", *arguments), **settings)
        try:
            yield port
        finally:
            children.stop(writer)


@contextmanager
def _served(children: Children, log: Path, command: Sequence[str], **settings: str) -> Iterator[int]:
    process = _start(children, log, command, **settings)
    try:
        yield wait_port(process, log)
    finally:
        children.stop(process)


def _start(children: Children, log: Path, command: Sequence[str], **settings: str) -> subprocess.Popen[str]:
    log.unlink(missing_ok=True)
    python = venvs.python_of(venvs.PEERS)
    return children.start([str(python), *command], log=log, env=_environment(**settings))


def run_load(children: Children, folder: Path, client: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Run `http_load` or `sse_load` in a process of its own; what it found."""
    file = folder / f"{client}.json"
    file.write_text(json.dumps(spec))
    argv = [str(venvs.python_of(venvs.PEERS)), "-m", f"{_PACKAGE}.{client}", str(file)]
    output = children.run(argv, log=folder / f"{client}.log", env=_environment(), timeout=300)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found

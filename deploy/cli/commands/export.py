"""`callboard export`: tasks with their whole history, as JSON Lines or Parquet."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Literal

import typer

from deploy.cli.exits import BAD_INPUT, INTERRUPTED, Failure
from deploy.cli.options import TenantOption, check_id, read_moment

_ID = slice(12, 47)  # of a line, which begins with {"task_id":"tq_…"


def _check_after(after: str | None) -> str | None:
    return None if after is None else check_id(after, "tq", "task", "export")


def export(
    since: Annotated[
        datetime | None,
        typer.Option(parser=read_moment, metavar="TIME", help="Only tasks created then or later.", show_default=False),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(parser=read_moment, metavar="TIME", help="Only tasks created before.", show_default=False),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="TASK_ID", help="Go on after this task: the last one of another export.", callback=_check_after
        ),
    ] = None,
    tenant: TenantOption = None,
    format: Annotated[Literal["jsonl", "parquet"], typer.Option(help="What is written to stdout.")] = "jsonl",  # noqa: A002
) -> None:
    """Write tasks with their attempts and events to stdout, oldest first.

    The last task is named at the end, also if the export breaks off: `--after` goes on from there.

    \b
    Examples:
      callboard export --since 2030-01-01 > tasks.jsonl
      callboard export --since 2030-01-01 --until 2030-02-01 | gzip > january.jsonl.gz
      callboard export --since 2030-01-01 --format parquet > tasks.parquet
      callboard export --after tq_0198c1d7a2b37c1c9d4e5f60718293a4 >> tasks.jsonl
    """
    from deploy.cli.connection import LONG_PATIENCE, open_client

    count, last = 0, after
    try:
        with _open_output(format) as write, open_client(patience=LONG_PATIENCE) as client:
            for line in client.export(since=_format(since), until=_format(until), after=after, tenant=tenant):
                write(line)
                count, last = count + 1, line[_ID]
    except KeyboardInterrupt:
        raise Failure(INTERRUPTED, "Interrupted.") from None
    finally:
        if last is not None:
            typer.echo(f"{count:,} tasks. The last one: {last}", err=True)


def _format(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


@contextmanager
def _open_output(form: str) -> Iterator[Callable[[str], None]]:
    if form == "jsonl":
        yield _write_line
        sys.stdout.buffer.flush()
        return
    from deploy.cli.parquet import ParquetFile

    if sys.stdout.isatty():
        raise Failure(BAD_INPUT, "Parquet is not for a terminal: callboard export --format parquet > tasks.parquet")
    with ParquetFile(sys.stdout.buffer) as file:
        yield file.add


def _write_line(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")

"""Output of `callboard queues`, also of its live form."""

from typing import Any

from rich.table import Table
from rich.text import Text

from deploy.cli.output import format_status, sanitize, start_table


def describe_depths(status: dict[str, Any]) -> str:
    depths = "  ".join(f"{name} {count}" for name, count in status["queues"].items())
    return f"All: {depths}  (the retry lane gets {status['retry_ratio']:.0%} of the starts)"


def tabulate_queues(rows: list[dict[str, Any]]) -> Table:
    table = start_table()
    table.add_column("Queue", no_wrap=True)
    for heading in ("Primary", "Retry", "Running"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        counts = (str(row[name]) for name in ("primary", "retry", "running"))
        table.add_row(Text(sanitize(row["queue"])), *counts, format_status("paused") if row["paused"] else "")
    return table

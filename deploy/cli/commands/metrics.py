"""`callboard metrics`: shows what happened to the tasks, by the minute, the hour or the day."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.options import ActorOption, AgentOption, BeforeOption, JsonOption, TaskTypeOption, read_moment

if TYPE_CHECKING:
    from rich.table import Table


class Resolution(StrEnum):
    minute = "minute"
    hour = "hour"
    day = "day"


def metrics(
    resolution: Annotated[
        Resolution, typer.Option("--by", help="The length of a period. Minutes are kept for 30 days, days for ever.")
    ] = Resolution.hour,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--from",
            parser=read_moment,
            metavar="MOMENT",
            help="Default: an hour of minutes, a day of hours or 30 days; without a zone in UTC.",
        ),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--to", parser=read_moment, metavar="MOMENT", help="Default: now.")
    ] = None,
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The largest number of rows to print.")] = 100,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the tasks of each minute, hour or day, and their times.

    \b
    Examples:
      callboard metrics
      callboard metrics --by minute --actor summarize
      callboard metrics --by day --from 2030-01-01 --agent writer
      callboard metrics --json | jq '[.items[].tasks_failed] | add'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    if since is not None and until is not None and until <= since:
        raise Failure(BAD_INPUT, "--to must be later than --from.")
    period = {"from": since and since.isoformat(), "to": until and until.isoformat()}
    with open_client() as client:
        found = fetch(
            client, f"{API}/metrics/tasks", limit=limit, cursor=before, resolution=resolution.value, actor=actor,
            agent_name=agent_name, task_type=task_type, **period,
        )  # fmt: skip
    print_page(found, _tabulate, command="metrics", if_empty="Nothing happened.", as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_duration, parse_moment, sanitize, start_table

    table = start_table()
    table.add_column("UTC", no_wrap=True)
    table.add_column("Actor", overflow="fold")
    table.add_column("Agent", overflow="fold")
    for heading in ("Created", "Completed", "Failed", "Latency", "Errors", "Heartbeat"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        agent = f"{row['agent_name']} {row['task_type']}" if row["agent_name"] else ""
        table.add_row(
            parse_moment(row["period"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M"),
            Text(sanitize(row["actor"])),
            Text(sanitize(agent)),
            str(row["tasks_created"]),
            str(row["tasks_completed"]),
            Text(str(row["tasks_failed"]), style="bold red" if row["tasks_failed"] else ""),
            "-" if row["average_latency"] is None else format_duration(row["average_latency"]),
            "-" if row["error_rate"] is None else f"{row['error_rate']:.1%}",
            "-" if row["worker_heartbeat_delay"] is None else format_duration(row["worker_heartbeat_delay"]),
        )
    return table

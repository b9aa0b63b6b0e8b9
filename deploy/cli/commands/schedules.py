"""`callboard schedules`: tasks that start again and again."""

from typing import Annotated, Any, Literal

import typer

from deploy.cli.exits import BAD_INPUT, EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import BeforeOption, JsonOption, LimitOption, PriorityOption, TenantOption

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)

# Repeated from `state.schedules`, because importing `state` would slow down every `--help`.
CatchUpName = Literal["skip", "one", "all"]
OverlapName = Literal["allow", "skip"]


def _check_schedule_id(schedule_id: str) -> str:
    from state.tasks.ids import is_schedule_id

    if not is_schedule_id(schedule_id):
        message = f"There is no schedule {schedule_id!r}: an id is sc_ and 32 hexadecimal digits."
        raise Failure(NOT_FOUND, f"{message} `callboard schedules list` shows them.")
    return schedule_id


ScheduleId = Annotated[
    str, typer.Argument(metavar="SCHEDULE_ID", help="The schedule's id (sc_...).", callback=_check_schedule_id)
]


@group.callback()
def schedules() -> None:
    """Start tasks again and again, by cron expressions.

    \b
    Examples:
      callboard schedules create "daily summary" "30 6 * * 1-5" summarize --set content=@notes.txt
      callboard schedules list
      callboard schedules pause sc_0199b2…
      callboard schedules runs sc_0199b2…
    """


@group.command("create", epilog=EXIT_CODES_HELP)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Unique within the tenant.")],
    cron: Annotated[str, typer.Argument(metavar="CRON", help='Five fields, such as "30 6 * * 1-5", or @daily.')],
    actor: Annotated[str, typer.Argument(metavar="ACTOR", help="The actor that runs the tasks.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="PAYLOAD", help="JSON, @file, or - for stdin.", show_default=False)
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set one field of the payload, as in submit.")
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Of the expression, such as Europe/Berlin.")] = "UTC",
    catch_up: Annotated[CatchUpName, typer.Option(help="For missed ticks: start none, one for all, or each.")] = "one",
    overlap: Annotated[OverlapName, typer.Option(help="Whether to start while the last task has not ended.")] = "allow",
    jitter: Annotated[int, typer.Option(metavar="SECONDS", help="Start up to so many seconds after a tick.")] = 0,
    priority: PriorityOption = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="Overrides the actor's own.")] = None,
    queue: Annotated[str | None, typer.Option(help="Overrides the actor's own.")] = None,
    target: Annotated[str | None, typer.Option(help="Its tasks run one after the other.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that the schedule belongs to.")] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Start nothing until it is resumed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a schedule.

    \b
    Examples:
      callboard schedules create "weekdays" "30 6 * * 1-5" summarize @report.json --timezone Europe/Berlin
      callboard schedules create "fox" "*/15 * * * *" media_generation --set prompt="a fox" --overlap skip
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json
    from deploy.cli.payloads import read_payload

    body: dict[str, Any] = {
        "name": name, "cron": cron, "actor": actor, "payload": read_payload(payload, assignments or []),
        "timezone": timezone, "catch_up": catch_up, "overlap": overlap, "jitter_seconds": jitter, "priority": priority,
        "max_attempts": max_attempts, "queue": queue, "target": target, "tenant": tenant, "paused": paused,
    }  # fmt: skip
    with open_client(actors=True) as client:
        made = client.request("POST", f"{API}/schedules", json=body)
    if as_json:
        print_json(made)
    else:
        typer.echo(made["schedule_id"])


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(
    tenant: TenantOption = None, limit: LimitOption = 100, before: BeforeOption = None, as_json: JsonOption = False
) -> None:
    """List schedules, newest first.

    \b
    Examples:
      callboard schedules list
      callboard schedules list --json | jq -r '.items[] | select(.last_error).schedule_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.schedules import tabulate_schedules

    with open_client() as client:
        found = fetch(client, f"{API}/schedules", limit=limit, cursor=before, tenant=tenant)
    print_page(found, tabulate_schedules, command="schedules list", if_empty="No schedules.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Show a schedule with its next ticks.

    \b
    Examples:
      callboard schedules show sc_0199b2…
    """
    _act("GET", schedule_id, as_json=as_json)


@group.command("preview", epilog=EXIT_CODES_HELP)
def preview(
    cron: Annotated[str, typer.Argument(metavar="CRON", help='Five fields, such as "30 6 * * 1-5", or @daily.')],
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Such as Europe/Berlin.")] = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Say what a cron expression means, and when it is due next.

    \b
    Examples:
      callboard schedules preview "30 6 * * 1-5" --timezone Europe/Berlin
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json
    from deploy.cli.schedules import format_ticks

    with open_client() as client:
        found = client.request("GET", f"{API}/schedules/preview", params={"cron": cron, "timezone": timezone})
    if as_json:
        print_json(found)
    else:
        typer.echo(
            f"{found['description']} ({found['timezone']})\n{format_ticks(found['next_ticks'], found['timezone'])}"
        )


@group.command("change", epilog=EXIT_CODES_HELP)
def change(
    schedule_id: ScheduleId,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    cron: Annotated[str | None, typer.Option(metavar="CRON", help="Another expression.")] = None,
    timezone: Annotated[str | None, typer.Option(metavar="ZONE", help="Another time zone.")] = None,
    payload: Annotated[str | None, typer.Option(metavar="PAYLOAD", help="JSON, @file, or - for stdin.")] = None,
    catch_up: Annotated[CatchUpName | None, typer.Option(help="For missed ticks: none, one for all, or each.")] = None,
    overlap: Annotated[OverlapName | None, typer.Option(help="Whether to start while the last one runs.")] = None,
    jitter: Annotated[int | None, typer.Option(metavar="SECONDS", help="Start so many seconds after a tick.")] = None,
    priority: PriorityOption = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="Attempts of each task.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a schedule. What is not given stays as it is.

    \b
    Examples:
      callboard schedules change sc_0199b2… --cron "0 7 * * *" --timezone Europe/Berlin
    """
    from deploy.cli.payloads import read_payload

    options: dict[str, Any] = {
        "name": name, "cron": cron, "timezone": timezone, "catch_up": catch_up, "overlap": overlap,
        "jitter_seconds": jitter, "priority": priority, "max_attempts": max_attempts,
        "payload": None if payload is None else read_payload(payload, []),
    }  # fmt: skip
    changes = {field: value for field, value in options.items() if value is not None}
    if not changes:
        raise Failure(BAD_INPUT, "Say what to change: `callboard schedules change --help` lists the options.")
    _act("PATCH", schedule_id, as_json=as_json, changes=changes)


@group.command("pause", epilog=EXIT_CODES_HELP)
def pause(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Pause a schedule: its ticks start nothing, and are not made up for.

    \b
    Examples:
      callboard schedules pause sc_0199b2…
    """
    _act("POST", f"{schedule_id}/pause", as_json=as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Let a paused schedule go on with the next tick from now.

    \b
    Examples:
      callboard schedules resume sc_0199b2…
    """
    _act("POST", f"{schedule_id}/resume", as_json=as_json)


@group.command("run", epilog=EXIT_CODES_HELP)
def run(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Start a task of a schedule now, beside its ticks. Prints the task's id.

    \b
    Examples:
      callboard watch $(callboard schedules run sc_0199b2…)
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    with open_client(actors=True) as client:
        started = client.request("POST", f"{API}/schedules/{schedule_id}/run")
    if as_json:
        print_json(started)
    else:
        typer.echo(started["task_id"])


@group.command("delete", epilog=EXIT_CODES_HELP)
def delete(schedule_id: ScheduleId) -> None:
    """Delete a schedule. Its history and its tasks stay.

    \b
    Examples:
      callboard schedules delete sc_0199b2…
    """
    from deploy.cli.connection import API, open_client

    with open_client() as client:
        client.request("DELETE", f"{API}/schedules/{schedule_id}")
    typer.echo(f"{schedule_id} is deleted.")


@group.command("runs", epilog=EXIT_CODES_HELP)
def runs(
    schedule_id: ScheduleId, limit: LimitOption = 20, before: BeforeOption = None, as_json: JsonOption = False
) -> None:
    """List what became of the ticks of a schedule, newest first.

    \b
    Examples:
      callboard schedules runs sc_0199b2…
      callboard schedules runs sc_0199b2… --json | jq '.items[] | select(.outcome == "failed").reason'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.schedules import tabulate_runs

    with open_client() as client:
        found = fetch(client, f"{API}/schedules/{schedule_id}/runs", limit=limit, cursor=before)
    command = f"schedules runs {schedule_id}"
    print_page(found, tabulate_runs, command=command, if_empty="No runs yet.", as_json=as_json)


def _act(method: str, path: str, *, as_json: bool, changes: dict[str, Any] | None = None) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json
    from deploy.cli.schedules import tabulate_schedule

    with open_client(actors=changes is not None) as client:
        schedule = client.request(method, f"{API}/schedules/{path}", json=changes)
    if as_json:
        print_json(schedule)
    else:
        open_console().print(tabulate_schedule(schedule))

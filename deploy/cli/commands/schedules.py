"""`callboard schedules`: tasks that start again and again."""

from typing import Annotated, Any, Literal

import typer

from deploy.cli.exits import EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption, PriorityOption, TenantOption

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
Limit = Annotated[int, typer.Option(min=1, max=1000, help="The largest number of rows to print.")]


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
    from deploy.cli.payloads import read_payload
    from deploy.cli.schedules import print_schedule
    from deploy.cli.store import load_actors, open_store
    from state.schedules.changes import create_schedule

    body = read_payload(payload, assignments or [])
    options: dict[str, Any] = {
        "timezone": timezone, "catch_up": catch_up, "overlap": overlap, "jitter_seconds": jitter, "priority": priority,
        "max_attempts": max_attempts, "queue": queue, "target": target, "tenant": tenant,
    }  # fmt: skip
    with open_store():
        load_actors()
        made = create_schedule(name, cron, actor, body, paused=paused, **options)
    if as_json:
        print_schedule(made, as_json=True)
    else:
        typer.echo(made.schedule_id)


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(tenant: TenantOption = None, limit: Limit = 100, as_json: JsonOption = False) -> None:
    """List schedules, newest first.

    \b
    Examples:
      callboard schedules list
      callboard schedules list --json | jq -r '.items[] | select(.last_error).schedule_id'
    """
    from deploy.cli.schedules import print_page, tabulate_schedules
    from deploy.cli.store import open_store
    from state.schedules.reads import list_schedules

    with open_store():
        found = list_schedules(tenant=tenant, limit=limit)
    print_page(found, tabulate_schedules, if_empty="No schedules.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Show a schedule with its next ticks.

    \b
    Examples:
      callboard schedules show sc_0199b2…
    """
    from state.schedules.reads import get_schedule

    _act(get_schedule, schedule_id, as_json)


@group.command("pause", epilog=EXIT_CODES_HELP)
def pause(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Pause a schedule: its ticks start nothing, and are not made up for.

    \b
    Examples:
      callboard schedules pause sc_0199b2…
    """
    from state.schedules.changes import pause_schedule

    _act(pause_schedule, schedule_id, as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Let a paused schedule go on with the next tick from now.

    \b
    Examples:
      callboard schedules resume sc_0199b2…
    """
    from state.schedules.changes import resume_schedule

    _act(resume_schedule, schedule_id, as_json)


@group.command("run", epilog=EXIT_CODES_HELP)
def run(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Start a task of a schedule now, beside its ticks. Prints the task's id.

    \b
    Examples:
      callboard watch $(callboard schedules run sc_0199b2…)
    """
    from deploy.cli.output import print_json
    from deploy.cli.store import load_actors, open_store
    from state.schedules.starts import start_schedule

    with open_store():
        load_actors()
        started = start_schedule(schedule_id)
    if as_json:
        print_json(started.model_dump(mode="json"))
    else:
        typer.echo(started.task_id)


@group.command("delete", epilog=EXIT_CODES_HELP)
def delete(schedule_id: ScheduleId) -> None:
    """Delete a schedule. Its history and its tasks stay.

    \b
    Examples:
      callboard schedules delete sc_0199b2…
    """
    from deploy.cli.store import open_store
    from state.schedules.changes import delete_schedule

    with open_store():
        delete_schedule(schedule_id)
    typer.echo(f"{schedule_id} is deleted.")


@group.command("runs", epilog=EXIT_CODES_HELP)
def runs(schedule_id: ScheduleId, limit: Limit = 20, as_json: JsonOption = False) -> None:
    """List what became of the ticks of a schedule, newest first.

    \b
    Examples:
      callboard schedules runs sc_0199b2…
      callboard schedules runs sc_0199b2… --json | jq '.items[] | select(.outcome == "failed").reason'
    """
    from deploy.cli.schedules import print_page, tabulate_runs
    from deploy.cli.store import open_store
    from state.schedules.reads import list_runs

    with open_store():
        found = list_runs(schedule_id, limit=limit)
    print_page(found, tabulate_runs, if_empty="No runs yet.", as_json=as_json)


def _act(verb: Any, schedule_id: str, as_json: bool) -> None:
    from deploy.cli.schedules import print_schedule
    from deploy.cli.store import open_store

    with open_store():
        schedule = verb(schedule_id)
    print_schedule(schedule, as_json=as_json)

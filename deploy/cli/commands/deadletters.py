"""`callboard dlq`, `redrive`, `dismiss`: lists dead letters, runs them again, or gives them up."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import BAD_INPUT, Failure
from deploy.cli.options import (
    ActorOption,
    AgentOption,
    BeforeOption,
    JsonOption,
    LimitOption,
    TaskTypeOption,
    TenantOption,
    check_id,
)

if TYPE_CHECKING:
    from rich.table import Table

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _parse_age(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?)([smhd]?)", text, re.ASCII)
    if found is None:
        raise typer.BadParameter("expected seconds, or a number with s, m, h or d, such as 90m")
    return float(found[1]) * _UNITS[found[2]]


FingerprintOption = Annotated[
    str | None, typer.Option(metavar="FINGERPRINT", help="Only tasks of this group, see `dlq --groups`.")
]
ErrorOption = Annotated[str | None, typer.Option(help="Only tasks that died of this type of error.")]
AgeOption = Annotated[
    float | None,
    typer.Option(parser=_parse_age, metavar="AGE", help="Only tasks that died at least so long ago: 600, 90m, 2d."),
]
AllOption = Annotated[bool, typer.Option("--all", help="All dead letters; required if there is no filter.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show the effect, and change nothing.")]


def dlq(
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    error_type: ErrorOption = None,
    fingerprint: FingerprintOption = None,
    older_than: AgeOption = None,
    tenant: TenantOption = None,
    groups: Annotated[bool, typer.Option("--groups", help="List groups with the same error instead.")] = False,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the dead letters, newest first.

    A dead letter is a task with status dead: it needs a person. A group has those whose errors are of one type,
    with the same message apart from ids, numbers and the like.

    \b
    Examples:
      callboard dlq
      callboard dlq --groups
      callboard dlq --fingerprint 5204fafc592d8626
      callboard dlq --error-type AuthenticationFailed
      callboard dlq --json | jq -r '.items[].error.message'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    with open_client() as client:
        found = fetch(
            client, f"{API}/queues/dlq{'/groups' * groups}", limit=limit, cursor=before, actor=actor,
            agent_name=agent_name, task_type=task_type, error_type=error_type, fingerprint=fingerprint,
            older_than=older_than, tenant=tenant,
        )  # fmt: skip
    print_page(
        found, _tabulate_groups if groups else _tabulate, command="dlq", if_empty="No dead letters.", as_json=as_json
    )


def redrive(
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    error_type: ErrorOption = None,
    fingerprint: FingerprintOption = None,
    older_than: AgeOption = None,
    tenant: TenantOption = None,
    everything: AllOption = False,
    dry_run: DryOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run all matching dead letters again.

    \b
    Examples:
      callboard redrive --error-type AuthenticationFailed --dry-run
      callboard redrive --actor summarize --older-than 1h
      callboard redrive --fingerprint 5204fafc592d8626
      callboard redrive --agent FitmentAgent --task-type generate_fitment
      callboard redrive --all
    """
    _act_on_many(
        "redrive",
        {
            "actor": actor, "agent_name": agent_name, "task_type": task_type, "error_type": error_type,
            "fingerprint": fingerprint, "older_than": older_than, "tenant": tenant, "all": everything,
            "dry_run": dry_run,
        },
        ("are queued again", "would be queued again"),
        as_json,
    )  # fmt: skip


def dismiss(
    task_id: Annotated[
        str | None, typer.Argument(metavar="[TASK_ID]", help="A single dead letter.", show_default=False)
    ] = None,
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    error_type: ErrorOption = None,
    fingerprint: FingerprintOption = None,
    older_than: AgeOption = None,
    tenant: TenantOption = None,
    everything: AllOption = False,
    dry_run: DryOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give up one dead letter, or all that match: they are canceled.

    \b
    Examples:
      callboard dismiss tq_0199b2…
      callboard dismiss --older-than 30d --dry-run
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_new_status

    if task_id is None:
        _act_on_many(
            "dismiss",
            {
                "actor": actor, "agent_name": agent_name, "task_type": task_type, "error_type": error_type,
                "fingerprint": fingerprint, "older_than": older_than, "tenant": tenant, "all": everything,
                "dry_run": dry_run,
            },
            ("are canceled", "would be canceled"),
            as_json,
        )  # fmt: skip
        return
    filters = (actor, agent_name, task_type, error_type, fingerprint, older_than, tenant)
    if everything or dry_run or any(value is not None for value in filters):
        raise Failure(BAD_INPUT, "Give a task id or a filter, not both.")
    with open_client() as client:
        task = client.dismiss(check_id(task_id, "tq", "task", "dlq"))
    print_new_status(task, as_json=as_json)


def _act_on_many(verb: str, body: dict[str, Any], words: tuple[str, str], as_json: bool) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json, sanitize
    from taskclient import InvalidRequest

    with open_client() as client:
        try:
            bulk = client.request("POST", f"{API}/queues/dlq/{verb}", json=body)
        except InvalidRequest as refused:
            if refused.token != "empty-filter":  # noqa: S105
                raise
            raise Failure(BAD_INPUT, f"{refused.detail} (--all)") from None
    if as_json:
        print_json(bulk)
        return
    for group in bulk["groups"]:
        typer.echo(f"{group['tasks']:>8}  {sanitize(group['actor'])}  {sanitize(group['error_type'] or '-')}")
    typer.echo(f"{bulk['tasks']} dead letters {words[bulk['dry_run']]}.")
    if bulk["skipped"]:
        were = "would be" if bulk["dry_run"] else "were"
        typer.echo(f"{bulk['skipped']} {were} skipped: another task holds their dedup key.")


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_actor, format_error, format_relative, start_table
    from taskclient import ListedTask

    table = start_table()
    for heading in ("Task", "Actor", "Died", "Attempts"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Error", no_wrap=True, overflow="ellipsis", ratio=1)
    for task in map(ListedTask.model_validate, rows):
        table.add_row(
            task.task_id,
            Text(format_actor(task)),
            format_relative(task.finished_at),
            str(task.attempt),
            Text(format_error(task.error)),
        )
    return table


def _tabulate_groups(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_error, format_relative, start_table

    table = start_table()
    table.add_column("Tasks", no_wrap=True, justify="right")
    for heading in ("Fingerprint", "Actors", "First", "Last"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Error", no_wrap=True, overflow="ellipsis", ratio=1)
    for group in rows:
        error = {"type": group["error_type"], "message": group["normalized_message"]}
        table.add_row(
            f"{group['tasks']}{'' if group['counted_all'] else '+'}",
            group["fingerprint"],
            Text(", ".join(each["actor"] for each in group["actors"])),
            format_relative(group["first_seen"]),
            format_relative(group["last_seen"]),
            Text(format_error(error)),
        )
    return table

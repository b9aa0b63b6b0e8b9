"""`callboard bulk`: cancels, pauses, resumes, retries or dismisses many tasks, after a preview."""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deploy.cli.commands.list import StatusName
from deploy.cli.exits import BAD_INPUT, COMMAND_FAILED, Failure
from deploy.cli.options import ActorOption, AgentOption, JsonOption, TaskTypeOption, TenantOption, check_id

if TYPE_CHECKING:
    from taskclient import Client

ActionName = Literal["cancel", "pause", "resume", "retry", "dismiss"]

_Kind = tuple[tuple[str, Any], ...]  # what the tasks of a group have in common

_STEP = 500  # ids of one request


def bulk(
    action: Annotated[ActionName, typer.Argument(help="What to do with them.", show_default=False)],
    task_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK_ID]...", help="These tasks.", show_default=False)
    ] = None,
    status: Annotated[StatusName | None, typer.Option(help="Only tasks in this status.")] = None,
    actor: ActorOption = None,
    agent_name: AgentOption = None,
    task_type: TaskTypeOption = None,
    queue: Annotated[str | None, typer.Option(help="Only tasks of this queue.")] = None,
    lane: Annotated[str | None, typer.Option(help="Only tasks of this lane: primary or retry.")] = None,
    target: Annotated[str | None, typer.Option(help="Only tasks of this target.")] = None,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="WORKFLOW_ID", help="Only tasks of this workflow.")
    ] = None,
    tenant: TenantOption = None,
    error_type: Annotated[str | None, typer.Option(help="Only tasks whose last error is of this type.")] = None,
    text: Annotated[str | None, typer.Option(help="Only tasks with these words, as in `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All tasks; required if there is no filter.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the effect, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Cancel, pause, resume, retry or dismiss many tasks.

    Shows what would be done, asks, does it in steps of 500 tasks, and says what was done. A task that cannot be moved
    stays as it is. If it is interrupted, start it again: what is done is not done twice.

    \b
    Examples:
      callboard bulk cancel --actor summarize --status queued
      callboard bulk retry --status dead --text '"too many requests"' --dry-run
      callboard bulk dismiss tq_0199b2… tq_0199b3… --yes
    """
    from deploy.cli.connection import open_client
    from deploy.cli.output import print_json

    filters = {
        "status": status, "actor": actor, "agent_name": agent_name, "task_type": task_type, "queue": queue,
        "lane": lane, "target": target, "workflow_id": workflow, "tenant": tenant, "error_type": error_type,
        "text": text,
    }  # fmt: skip
    ids = [check_id(each, "tq", "task", "list") for each in task_ids or []]
    given = {name: value for name, value in filters.items() if value is not None}
    if ids and (given or everything):
        raise Failure(BAD_INPUT, "Give ids or a filter, not both.")
    chosen = {"ids": ids} if ids else {"filter": given, "all": everything}
    with open_client() as client:
        preview = _add_up(_run(client, {"action": action, **chosen, "dry_run": True}))
        if not as_json:
            _print("would be", preview)
        elif dry_run or not preview["tasks"]:
            print_json(preview)
        if dry_run or not preview["tasks"]:
            return
        if not yes:
            if as_json or not sys.stdin.isatty():
                raise Failure(BAD_INPUT, "Nothing was done. Add --yes to do it.")
            typer.confirm(f"{action.capitalize()} {preview['tasks']} tasks?", abort=True)
        cursor = {"cursor": preview["cursor"]} if preview["cursor"] else {}
        receipt = _add_up(_show_progress(_run(client, {"action": action, **chosen, **cursor}), preview["tasks"]))
    print_json(receipt) if as_json else _print("were", receipt)
    if receipt["failed"]:
        raise Failure(COMMAND_FAILED, "Some tasks could not be moved now; try again.")


def _run(client: "Client", body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields what the server answers: for so many ids, or step by step."""
    from deploy.cli.connection import API
    from taskclient import InvalidRequest

    ids = body.get("ids")
    parts = [{**body, "ids": ids[at : at + _STEP]} for at in range(0, len(ids), _STEP)] if ids else [body]
    while parts:
        part = parts.pop(0)
        try:
            answer: dict[str, Any] = client.request("POST", f"{API}/tasks/bulk", json=part)
        except InvalidRequest as refused:
            if refused.token != "empty-filter":  # noqa: S105
                raise
            raise Failure(BAD_INPUT, f"{refused.detail} (--all)") from None
        if answer["next_cursor"] and not body.get("dry_run"):
            parts.append({**part, "cursor": answer["next_cursor"]})
        yield answer


def _show_progress(answers: Iterator[dict[str, Any]], expected: int) -> Iterator[dict[str, Any]]:
    done = 0
    for answer in answers:
        yield answer
        done += answer["tasks"]
        if sys.stderr.isatty():
            print(f"\r{done} of {expected} tasks", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _add_up(answers: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Makes one answer of many."""
    counts: dict[str, Counter[_Kind]] = {name: Counter() for name in ("groups", "skipped", "failed")}
    ids: dict[tuple[str, _Kind], list[str]] = {}
    total: dict[str, Any] = {"tasks": 0}
    for answer in answers:
        total = {**answer, "tasks": total["tasks"] + answer["tasks"]}
        for name, counter in counts.items():
            for group in answer[name]:
                kind = tuple((key, value) for key, value in group.items() if key not in ("tasks", "task_ids"))
                counter[kind] += group["tasks"]
                ids.setdefault((name, kind), []).extend(group.get("task_ids", []))
    for name, counter in counts.items():
        total[name] = [
            {**dict(kind), "tasks": tasks, **({"task_ids": ids[name, kind]} if name != "groups" else {})}
            for kind, tasks in counter.most_common()
        ]
    return total


def _print(were: str, outcome: dict[str, Any]) -> None:
    from deploy.cli.output import sanitize

    for group in outcome["groups"]:
        becomes = "asked to stop" if group["becomes"] == "stopping" else group["becomes"]
        typer.echo(f"{group['tasks']:>8}  {sanitize(group['actor'])}  {group['status']} → {becomes}")
    more = " at least, as there are more than were counted" if outcome["dry_run"] and outcome["next_cursor"] else ""
    typer.echo(f"{outcome['tasks']} tasks {were} moved{more}.")
    for left in outcome["skipped"]:
        typer.echo(f"{left['tasks']:>8}  skipped: {left['reason']}{_in_status(left)}")
    for left in outcome["failed"]:
        typer.echo(f"{left['tasks']:>8}  failed: {left['reason']}{_in_status(left)} ({', '.join(left['task_ids'])})")


def _in_status(left: dict[str, Any]) -> str:
    return f", {left['status']}" if left["status"] else ""

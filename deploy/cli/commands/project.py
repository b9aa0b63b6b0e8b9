"""`callboard project`: projects, their items, and the queues that do them."""

from typing import Annotated, Literal

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import BeforeOption, JsonOption, LimitOption, PriorityOption, TenantOption, check_id

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)

# Repeated from `state.projects`, because importing `state` would slow down every `--help`.
ItemStatusName = Literal["pending", "in_progress", "completed", "failed"]


def _check_project_id(project_id: str) -> str:
    return check_id(project_id, "pj", "project", "project list")


ProjectId = Annotated[
    str, typer.Argument(metavar="PROJECT_ID", help="The project's id (pj_...).", callback=_check_project_id)
]
ItemId = Annotated[str, typer.Argument(metavar="ITEM_ID", help="The item's id (it_...).")]


@group.callback()
def project() -> None:
    """Work off the items of projects, one after the other.

    \b
    Examples:
      callboard project create "Spring catalog"
      callboard project add pj_0199b2… --title Count --agent text --task-type statistics --input '{"text": "a b"}'
      callboard project run pj_0199b2… --mode loop
      callboard project watch pj_0199b2…
      callboard project stop pj_0199b2…
    """


@group.command("create", epilog=EXIT_CODES_HELP)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")],
    tenant: Annotated[str | None, typer.Option(help="The tenant that the project belongs to.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a project.

    \b
    Examples:
      callboard project create "Spring catalog"
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    with open_client() as client:
        made = client.request("POST", f"{API}/projects", json={"name": name, "tenant": tenant})
    if as_json:
        print_json(made)
    else:
        typer.echo(made["project_id"])


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(
    tenant: TenantOption = None, limit: LimitOption = 20, before: BeforeOption = None, as_json: JsonOption = False
) -> None:
    """List projects with the state of their queues, newest first.

    \b
    Examples:
      callboard project list
      callboard project list --json | jq -r '.items[] | select(.queue_state.is_running).project_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.projects import tabulate_projects

    with open_client() as client:
        found = fetch(client, f"{API}/projects", limit=limit, cursor=before, tenant=tenant)
    print_page(found, tabulate_projects, command="project list", if_empty="No projects.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Show a project: the state of its queue, and how many items it has in each status.

    \b
    Examples:
      callboard project show pj_0199b2…
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json
    from deploy.cli.projects import tabulate_project

    with open_client() as client:
        found = client.request("GET", f"{API}/projects/{project_id}")
    if as_json:
        print_json(found)
    else:
        open_console().print(tabulate_project(found))


@group.command("add", epilog=EXIT_CODES_HELP)
def add(
    project_id: ProjectId,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="JSON {items: [...]} of many; - for stdin.", show_default=False)
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of a single item.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's name.", show_default=False)] = None,
    task_type: Annotated[str | None, typer.Option(help="The agent's task type.", show_default=False)] = None,
    agent_input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="JSON, @file, or - for stdin.", show_default=False)
    ] = None,
    priority: PriorityOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add items to the end of a project: one, or all of a file.

    \b
    Examples:
      callboard project add pj_0199b2… --title Count --agent text --task-type statistics --input '{"text": "a b"}'
      callboard project add pj_0199b2… items.json
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json
    from deploy.cli.projects import read_items

    new = read_items(file, title, agent, task_type, agent_input, priority)
    with open_client(actors=True) as client:
        added = client.request("POST", f"{API}/projects/{project_id}/items", json={"items": new})
    if as_json:
        print_json(added)
    else:
        for item in added["items"]:
            typer.echo(item["item_id"])


@group.command("items", epilog=EXIT_CODES_HELP)
def items(
    project_id: ProjectId,
    status: Annotated[ItemStatusName | None, typer.Option(help="Only items in this status.")] = None,
    limit: LimitOption = 100,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the items of a project in their order.

    \b
    Examples:
      callboard project items pj_0199b2… --status failed
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch
    from deploy.cli.projects import tabulate_items

    with open_client() as client:
        found = fetch(client, f"{API}/projects/{project_id}/items", limit=limit, cursor=before, status=status)
    again = f"project items {project_id}"
    print_page(found, tabulate_items, command=again, if_empty="No items.", as_json=as_json)


@group.command("retry", epilog=EXIT_CODES_HELP)
def retry(project_id: ProjectId, item_id: ItemId, as_json: JsonOption = False) -> None:
    """Put a failed item back; the next run can take it.

    \b
    Examples:
      callboard project retry pj_0199b2… it_0199b2… && callboard project run pj_0199b2…
    """
    from urllib.parse import quote

    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    with open_client() as client:
        item = client.request("POST", f"{API}/projects/{project_id}/items/{quote(item_id, safe='')}/retry")
    if as_json:
        print_json(item)
    else:
        typer.echo(f"{item['item_id']} is {item['status']}.")

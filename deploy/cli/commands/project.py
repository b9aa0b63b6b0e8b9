"""`callboard project`: projects, their items, and the queues that do them."""

from typing import Annotated, Literal

import typer

from deploy.cli.exits import EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption, TenantOption

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)

# Repeated from `state.projects`, because importing `state` would slow down every `--help`.
ItemStatusName = Literal["pending", "in_progress", "completed", "failed"]


def _check_project_id(project_id: str) -> str:
    from state.tasks.ids import is_project_id

    if not is_project_id(project_id):
        message = f"There is no project {project_id!r}: an id is pj_ and 32 hexadecimal digits."
        raise Failure(NOT_FOUND, f"{message} `callboard project list` shows them.")
    return project_id


ProjectId = Annotated[
    str, typer.Argument(metavar="PROJECT_ID", help="The project's id (pj_...).", callback=_check_project_id)
]
ItemId = Annotated[str, typer.Argument(metavar="ITEM_ID", help="The item's id (it_...).")]
PriorityOption = Annotated[
    str | None, typer.Option(metavar="PRIORITY", help="0 to 3, or critical, high, medium, low.", show_default=False)
]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="The largest number of rows to print.")]


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
    from deploy.cli.projects import print_model
    from deploy.cli.store import open_store
    from state.projects.items import create_project

    with open_store():
        made = create_project(name, tenant=tenant)
    if as_json:
        print_model(made)
    else:
        typer.echo(made.project_id)


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(tenant: TenantOption = None, limit: Limit = 20, as_json: JsonOption = False) -> None:
    """List projects with the state of their queues, newest first.

    \b
    Examples:
      callboard project list
      callboard project list --json | jq -r '.items[] | select(.queue_state.is_running).project_id'
    """
    from deploy.cli.projects import print_models, tabulate_projects
    from deploy.cli.store import open_store
    from state.projects.reads import list_projects

    with open_store():
        found = list_projects(tenant=tenant, limit=limit)
    print_models(found, tabulate_projects, if_empty="No projects.", as_json=as_json)


@group.command("show", epilog=EXIT_CODES_HELP)
def show(project_id: ProjectId, as_json: JsonOption = False) -> None:
    """Show a project: the state of its queue, and how many items it has in each status.

    \b
    Examples:
      callboard project show pj_0199b2…
    """
    from deploy.cli.output import open_console
    from deploy.cli.projects import print_model, tabulate_project
    from deploy.cli.store import open_store
    from state.projects.reads import get_project

    with open_store():
        found = get_project(project_id)
    if as_json:
        print_model(found)
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
    from deploy.cli.projects import print_models, read_items, tabulate_items
    from deploy.cli.store import load_actors, open_store
    from state.projects.items import add_items

    new = read_items(file, title, agent, task_type, agent_input, priority)
    with open_store():
        load_actors()
        added = add_items(project_id, new)
    if as_json:
        print_models(added, tabulate_items, if_empty="", as_json=True)
    else:
        for item in added:
            typer.echo(item.item_id)


@group.command("items", epilog=EXIT_CODES_HELP)
def items(
    project_id: ProjectId,
    status: Annotated[ItemStatusName | None, typer.Option(help="Only items in this status.")] = None,
    limit: Limit = 100,
    as_json: JsonOption = False,
) -> None:
    """List the items of a project in their order.

    \b
    Examples:
      callboard project items pj_0199b2… --status failed
    """
    from deploy.cli.projects import print_models, tabulate_items
    from deploy.cli.store import open_store
    from state.projects.reads import list_items

    with open_store():
        found = list_items(project_id, status=status, limit=limit)
    print_models(found, tabulate_items, if_empty="No items.", as_json=as_json)


@group.command("retry", epilog=EXIT_CODES_HELP)
def retry(project_id: ProjectId, item_id: ItemId, as_json: JsonOption = False) -> None:
    """Put a failed item back; the next run can take it.

    \b
    Examples:
      callboard project retry pj_0199b2… it_0199b2… && callboard project run pj_0199b2…
    """
    from deploy.cli.projects import print_model
    from deploy.cli.store import open_store
    from state.projects.items import retry_item

    with open_store():
        item = retry_item(project_id, item_id)
    if as_json:
        print_model(item)
    else:
        typer.echo(f"{item.item_id} is {item.status}.")

"""`callboard prompts`: reads and stores prompts."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from deploy.cli.exits import BAD_INPUT, EXIT_CODES_HELP, Failure
from deploy.cli.options import JsonOption

group = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES_HELP)
PromptId = Annotated[str, typer.Argument(metavar="ID", help="The name of the prompt.")]
TenantOption = Annotated[str | None, typer.Option(help="The tenant that the prompt belongs to.")]


@group.callback()
def prompts() -> None:
    """Read and store prompts, which tasks name by `prompt_id`.

    \b
    Examples:
      callboard prompts put lighthouse "a lighthouse at dusk"
      callboard prompts get lighthouse
    """


@group.command("get", epilog=EXIT_CODES_HELP)
def get(prompt_id: PromptId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Print a prompt.

    \b
    Examples:
      callboard prompts get lighthouse
    """
    _request("GET", prompt_id, tenant, None, as_json)


@group.command("put", epilog=EXIT_CODES_HELP)
def put(
    prompt_id: PromptId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, @file, or - for stdin.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a prompt, or replace it.

    \b
    Examples:
      callboard prompts put lighthouse "a lighthouse at dusk"
      callboard prompts put lighthouse @lighthouse.txt
    """
    _request("PUT", prompt_id, tenant, {"text": _read_text(text)}, as_json)


def _read_text(argument: str) -> str:
    import sys
    from pathlib import Path

    if argument != "-" and not argument.startswith("@"):
        return argument
    try:
        raw = sys.stdin.buffer.read() if argument == "-" else Path(argument[1:]).read_bytes()
        return raw.decode()
    except OSError as unreadable:
        raise Failure(BAD_INPUT, f"Cannot read {argument[1:]}: {unreadable.strerror}.") from None
    except UnicodeDecodeError:
        raise Failure(BAD_INPUT, f"{argument}: not UTF-8 text.") from None


def _request(method: str, prompt_id: str, tenant: str | None, body: Any, as_json: bool) -> None:
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    path = f"{API}/prompts/{quote(prompt_id, safe='')}"
    with open_client() as client:
        prompt = client.request(method, path, params={"tenant": tenant}, json=body)
    if as_json:
        print_json(prompt)
    else:
        typer.echo(prompt["text"] if method == "GET" else f"{prompt['id']} is stored.")

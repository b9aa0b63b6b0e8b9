"""`callboard whoami`: shows who calls, and what it may do."""

from typing import Any

from deploy.cli.options import JsonOption


def whoami(as_json: JsonOption = False) -> None:
    """Show whose key is used, its role and its tenant: what the commands may do at this server.

    \b
    Examples:
      callboard whoami
      callboard --profile work whoami
      callboard whoami --json | jq -r '.operations[]'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json

    with open_client() as client:
        caller = client.request("GET", f"{API}/caller")
    if as_json:
        print_json(caller)
    else:
        print(_describe(caller))


def _describe(caller: dict[str, Any]) -> str:
    from deploy.cli.output import sanitize

    who = "no key" if caller["name"] is None else sanitize(caller["name"])
    tenant = "all tenants" if caller["tenant"] is None else f"tenant {sanitize(caller['tenant'])}"
    return f"{who}: {caller['role']}, {tenant}, {len(caller['operations'])} operations"

"""`callboard doctor`: says what is wrong with an installation, and what to do."""

import typer

from deploy.cli.exits import COMMAND_FAILED
from deploy.cli.options import JsonOption

_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(as_json: JsonOption = False) -> None:
    """Examine this installation: one line for each finding, with what to do.

    Looks at Python, packages, settings, folders, the database and how it is reached, keys, workers, queues, breakers
    and the port. The exit code is 1 if there is a problem.

    \b
    Examples:
      callboard doctor
      callboard doctor --json | jq '.findings[] | select(.level != "ok")'
    """
    from dataclasses import asdict

    from rich.text import Text

    from deploy.cli.doctor import examine
    from deploy.cli.output import open_console, print_json, sanitize
    from state import logs

    logs.configure_logs("critical")
    console = open_console()
    findings = []
    try:
        for finding in examine():
            findings.append(finding)
            if not as_json:
                line = Text.assemble(
                    (f"{finding.level:<8}", _STYLES[finding.level]), f" {finding.subject}: {sanitize(finding.text)}"
                )
                console.print(line, soft_wrap=True)
                if finding.remedy:
                    console.print(Text(f"         -> {sanitize(finding.remedy)}"), soft_wrap=True)
    finally:
        from state.database import close_database

        close_database()
    healthy = all(finding.level != "problem" for finding in findings)
    if as_json:
        print_json({"healthy": healthy, "findings": [asdict(finding) for finding in findings]})
    if not healthy:
        raise typer.Exit(COMMAND_FAILED)

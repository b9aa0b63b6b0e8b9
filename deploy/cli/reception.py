"""What `callboard up` says: little, and what helps."""

import time
from pathlib import Path

from rich.text import Text

from deploy.cli.output import console, duration
from state.settings import Settings

_STYLES = {"warning": "yellow", "error": "red", "critical": "bold red"}


class Reception:
    def __init__(self, *, quiet: bool) -> None:
        """`quiet`: only problems, on stderr; stdout is for a program."""
        self._screen = console(stderr=quiet)
        self._quiet = quiet
        self._begun = time.monotonic()

    def starting(self, folder: Path | None) -> None:
        self._say(f"Postgres   {f'embedded, in {_short(folder)}' if folder else 'CALLBOARD_DATABASE_URL'}")

    def migrated(self, applied: list[str]) -> None:
        self._say(f"Schema     {f'{len(applied)} changes applied' if applied else 'up to date'}")

    def welcome(self, url: str, settings: Settings, logs: Path, callboard: str) -> None:
        took = duration(time.monotonic() - self._begun)
        self._say(f"Workers    {settings.processes} processes, {settings.threads} threads each")
        self._say(f"Console    {url}/")
        self._say(f"Logs       {_short(logs)}\n")
        self._say(f"Callboard is up: {url}  (ready after {took})\n", style="bold green")
        self._say(
            "Ask for a picture, and watch it being made:\n\n"
            f"  curl -s {url}/api/v1/tasks -H 'Content-Type: application/json' \\\n"
            '    -d \'{"actor": "media_generation", "payload": {"prompt": "a lighthouse at dusk"}}\'\n'
            f"  {callboard} watch TASK_ID\n\n"
            "Ctrl-C ends everything; what runs goes on with the next start."
        )

    def stopping(self) -> None:
        self._say("\nStopping: running tasks have a moment to finish. Ctrl-C again hurries.")

    def stopped(self, postgres_stays: bool) -> None:
        self._say("Stopped." if not postgres_stays else "Stopped, but for Postgres: another program uses it.")

    def report(self, who: str, level: str, text: str) -> None:
        line = Text(f"{time.strftime('%H:%M:%S')} {who} {level}: {text}", style=_STYLES.get(level, ""))
        self._screen.print(line, soft_wrap=True)

    def _say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._screen.print(Text(text, style=style), soft_wrap=True)


def _short(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

"""The messages that `callboard up` prints."""

import time
from pathlib import Path

from rich.text import Text

from deploy.cli.output import format_duration, open_console
from state.settings import Settings

_STYLES = {"warning": "yellow", "error": "red", "critical": "bold red"}


class Messages:
    def __init__(self, *, quiet: bool) -> None:
        """`quiet`: prints only problems, on stderr, and leaves stdout to the JSON."""
        self._console = open_console(stderr=quiet)
        self._quiet = quiet
        self._begun = time.monotonic()

    def print_starting(self, postgres_folder: Path | None) -> None:
        where = f"embedded, in {_shorten(postgres_folder)}" if postgres_folder else "CALLBOARD_DATABASE_URL"
        self._print(f"Postgres   {where}")

    def print_migrated(self, applied: list[str]) -> None:
        self._print(f"Schema     {f'{len(applied)} changes applied' if applied else 'up to date'}")

    def print_ready(self, url: str, settings: Settings, logs: Path, callboard: str) -> None:
        """`callboard`: how the user can call this command."""
        took = format_duration(time.monotonic() - self._begun)
        places = f"{settings.threads} threads and {settings.coroutines} coroutines"
        self._print(f"Workers    {settings.processes} processes, {places} each")
        self._print(f"HTTP       {url}/  (API description: {url}/openapi.json)")
        self._print(f"Logs       {_shorten(logs)}\n")
        self._print(f"Callboard is up: {url}  (ready after {took})\n", style="bold green")
        self._print(
            "To generate an image and watch its progress:\n\n"
            f"  curl -s {url}/api/v1/tasks -H 'Content-Type: application/json' \\\n"
            '    -d \'{"actor": "media_generation", "payload": {"prompt": "a lighthouse at dusk"}}\'\n'
            f"  {callboard} watch TASK_ID\n\n"
            "Ctrl-C stops everything; unfinished tasks continue at the next start."
        )

    def print_stopping(self) -> None:
        self._print("\nStopping: running tasks have a moment to finish. Press Ctrl-C again to stop at once.")

    def print_stopped(self, *, postgres_runs: bool) -> None:
        self._print("Stopped. Postgres still runs: another program uses it." if postgres_runs else "Stopped.")

    def print_problem(self, service: str, level: str, text: str) -> None:
        message = f"{time.strftime('%H:%M:%S')} {service} {level}: {text}"
        self._console.print(Text(message, style=_STYLES.get(level, "")), soft_wrap=True)

    def _print(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._console.print(Text(text, style=style), soft_wrap=True)


def _shorten(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

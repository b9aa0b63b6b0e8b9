"""The three ways in which `watch queues` shows the queues: JSON, a line for each change, or a live table."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Group
from rich.live import Live
from rich.text import Text

from deploy.cli.output import open_console, print_json_line
from deploy.cli.queues import describe_depths, tabulate_queues
from deploy.cli.watch.following import OUTAGE, LineScreen
from taskclient import Event


class QueueScreen(Protocol):
    def show_event(self, event: Event) -> None: ...
    def show_outage(self) -> None: ...


@contextmanager
def open_queue_screen(as_json: bool) -> Iterator[QueueScreen]:
    console = open_console()
    if as_json:
        yield _JsonScreen()
    elif not console.is_terminal:
        yield _LineScreen(console)
    else:
        with Live(console=console, auto_refresh=False) as live:
            yield _TableScreen(live)


class _JsonScreen:
    def show_event(self, event: Event) -> None:
        print_json_line(event.data)

    def show_outage(self) -> None:
        pass


class _LineScreen(LineScreen):
    def show_event(self, event: Event) -> None:
        self._in_outage = False
        self.print_line(describe_depths(event.data))


class _TableScreen:
    def __init__(self, live: Live) -> None:
        self._live = live

    def show_event(self, event: Event) -> None:
        table = tabulate_queues(event.data["by_queue"])
        self._live.update(Group(table, Text(describe_depths(event.data))), refresh=True)

    def show_outage(self) -> None:
        self._live.console.print(Text(OUTAGE, style="yellow"))

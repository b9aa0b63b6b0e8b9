"""Follows a stream of the server, event by event, and shows it."""

from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.text import Text

from deploy.cli.output import print_json_line
from taskclient import Event

if TYPE_CHECKING:
    from taskclient import Client

OUTAGE = "The server does not answer; waiting for it"


class Screen(Protocol):
    """Shows a task, or something else that has events, to the user."""

    def show_snapshot(self, event: Event) -> None: ...
    def show_event(self, event: Event) -> None: ...
    def show_outage(self) -> None:
        """There is no connection. Called again and again until there is one."""

    def show_end(self, event: Event) -> None: ...


def follow(client: "Client", path: str, screen: Screen) -> dict[str, Any]:
    """Shows what is at this path, and all its later events, until it is finished. Returns its last state."""
    with closing(client.follow(f"{path}/stream", state_path=path, on_lost=screen.show_outage)) as stream:
        for event in stream:
            match event.kind:
                case "snapshot":
                    screen.show_snapshot(event)
                case "done":
                    screen.show_end(event)
                    return event.data
                case _:
                    screen.show_event(event)
    raise AssertionError("a stream from the snapshot ends with `done`")


class JsonScreen:
    """Prints the same events as the HTTP stream, one JSON document each."""

    def show_snapshot(self, event: Event) -> None:
        print_json_line(event.model_dump(mode="json"))

    show_event = show_end = show_snapshot

    def show_outage(self) -> None:
        pass


class LineScreen:
    """Prints each event on a line, with its time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_outage = False

    def show_event(self, event: Event) -> None:
        from deploy.cli.watch.wording import describe

        self._in_outage = False
        self.print_line(describe(event))

    def show_outage(self) -> None:
        if not self._in_outage:
            self.print_line(OUTAGE)
        self._in_outage = True

    def print_line(self, text: str) -> None:
        self._console.print(Text(f"{datetime.now().astimezone():%H:%M:%S} {text}"), soft_wrap=True)

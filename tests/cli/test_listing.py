"""Tables on terminals that are too narrow for them."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from deploy.cli.listing import Listing

ROW = ("wf_0199b2c3d4e5f60718293a4b5c6d7e8f", "release notes", "escalated", "1 completed, 1 dead, 3 pending", "3 h ago")


def _render(width: int, *, terminal: bool = True) -> list[str]:
    table = Listing()
    for heading in ("Workflow", "Name", "Status", "Steps", "Created"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_row(*ROW, Text("the step count is dead"))
    written = StringIO()
    Console(file=written, width=width, force_terminal=terminal, color_system=None).print(table)
    return [line.strip() for line in written.getvalue().splitlines() if line.strip()]


def test_a_narrow_terminal_shows_every_cell_whole() -> None:
    lines = _render(80)
    assert lines == [
        ROW[0],
        "Name release notes   Status escalated   Steps 1 completed, 1 dead, 3 pending",
        "Created 3 h ago   the step count is dead",
    ]


def test_a_wide_terminal_and_a_pipe_show_a_table() -> None:
    headings = ["Workflow", "Name", "Status", "Steps", "Created"]
    assert _render(200)[0].split() == headings
    assert _render(80, terminal=False)[0].split()[0] == "Workflow"
    assert len(_render(200)) == 3  # headings, a line, the row

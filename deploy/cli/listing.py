"""A table of a command. On a terminal that is too narrow for it, each row has lines of its own: ids stay whole."""

from collections.abc import Iterator

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_NARROWEST = 20  # characters of a column that can be folded or cut
_BETWEEN = 3  # characters between two columns


class Listing(Table):
    def __init__(self) -> None:
        super().__init__(box=box.SIMPLE_HEAD, pad_edge=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = sum(_measure(console, column) + _BETWEEN for column in self.columns)
        if not console.is_terminal or needed <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for first, *others in zip(*(_read(console, column) for column in self.columns), strict=True):
            yield Text(first.plain, style="bold")
            for line in _fill(self.columns[1:], others, options.max_width - 2):
                yield Padding(line, (0, 0, 0, 2))


def _read(console: Console, column: Column) -> list[Text]:
    return [cell if isinstance(cell, Text) else console.render_str(str(cell)) for cell in column.cells]


def _measure(console: Console, column: Column) -> int:
    """Returns the width that a column needs, so that it can be read."""
    widest = max(text.cell_len for text in [Text(str(column.header)), *_read(console, column)])
    return widest if column.no_wrap and column.ratio is None else min(widest, _NARROWEST)


def _fill(columns: list[Column], cells: list[Text], width: int) -> Iterator[Text]:
    """Puts as many cells into a line as it can hold, each after its heading."""
    line = Text()
    for column, cell in zip(columns, cells, strict=True):
        if not cell.plain:
            continue
        pair = Text.assemble((f"{column.header} " if column.header else "", "bright_black"), cell)
        if line and line.cell_len + _BETWEEN + pair.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, " " * _BETWEEN if line else "", pair)
    if line:
        yield line

"""An agent that writes down, outside the database, when it begins and ends."""

import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from broker import Context, agent
from deploy.prove.journal import Journal
from state.gates import Gate
from state.http_errors import Category


class Refused(Exception):
    category: Category = "permanent"


class Noted(BaseModel):
    journal: str
    name: str  # of the step, unique in the journal
    seconds: float = 0
    fails_while: str | None = None  # as long as this file exists
    before: list[str] = []  # results of other steps


class Name(BaseModel):
    name: str


def name_gate(request: Noted) -> list[Gate]:
    return [Gate("provider:one-at-a-time", 1)]


@agent("journal", "note_alone", gates=name_gate)
def note_alone(ctx: Context, request: Noted) -> Name:
    """As `note`, one at a time."""
    return note(ctx, request)


@agent("journal", "note")
def note(ctx: Context, request: Noted) -> Name:
    """Returns its name."""
    journal = Journal(Path(request.journal))
    try:
        key: dict[str, Any] = {"name": request.name, "task": ctx.task_id, "epoch": ctx.epoch}
        journal.write("begin", **key, before=request.before)
        time.sleep(request.seconds)
        if request.fails_while is not None and Path(request.fails_while).exists():
            raise Refused("as the test wants it")
        journal.write("end", **key)
    finally:
        journal.close()
    return Name(name=request.name)


@agent("journal", "own_row")
def write_row(ctx: Context, request: Noted) -> Name:
    """Writes a row of its own; it commits together with the end of the task, and with what follows from that."""
    name = Name(name=request.name)
    with ctx.transaction(name) as conn:
        conn.execute("INSERT INTO own_rows (name, before) VALUES (%s, %s)", [request.name, request.before])
    return name

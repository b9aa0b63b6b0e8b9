"""Projects with items that write a diary; real workers, and a worker that the test itself plays."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (declares the actors)
import tests.projects.agents  # noqa: F401
from state.database import connect
from state.projects.items import NewItem, add_items, create_project
from tests.projects.byhand import WorkerByHand
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
MakeProject = Callable[..., str]


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors="actors,tests.projects.agents,tests.projects.soon")


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    return tmp_path / "diary"


@pytest.fixture
def make_project(database_url: str, diary: Path) -> MakeProject:
    """Makes a project with items of these names; `options` are further fields of their input."""

    def make(*names: str, tenant: str | None = None, task_type: str = "write", **options: Any) -> str:
        project_id = create_project("a project", tenant=tenant).project_id
        if names:
            add_items(project_id, [make_item(diary, name, task_type, **options) for name in names])
        return project_id

    return make


def make_item(diary: Path, name: str, task_type: str = "write", priority: int | str = 2, **options: Any) -> NewItem:
    return NewItem(name, "diary", task_type, {"diary": str(diary), "name": name, **options}, priority)


@pytest.fixture
def by_hand(database_url: str) -> Iterator[WorkerByHand]:
    with connect("worker by hand") as connection:
        yield WorkerByHand(connection)


@pytest.fixture(autouse=True)
def nothing_is_wrong(connection: Observer) -> Iterator[None]:
    """After each test, everything that must always hold does."""
    yield
    wrong = connection.execute("SELECT * FROM admin.invariants").fetchall()
    assert wrong == []

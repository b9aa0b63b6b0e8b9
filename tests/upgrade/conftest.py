"""A database as the previous release has made it, and processes of both releases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest

from tests.conftest import settings_for
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.upgrade.release import PREVIOUS, ROOT, Release, Running, unpack

_R = TypeVar("_R", bound=Running)


@pytest.fixture(scope="session")
def previous_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(PREVIOUS, tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="session")
def old_template(postgres: TestPostgres, previous_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database as `callboard migrate` of the previous release makes it."""
    name = "callboard_old_template"
    postgres.execute(f"CREATE DATABASE {name}")
    with settings_for(postgres.url(name), tmp_path_factory.mktemp("old")):
        done = Release(previous_tree).command("migrate")
        assert done.returncode == 0, done
    return name


@pytest.fixture
def old_url(postgres: TestPostgres, tmp_path: Path, old_template: str) -> Iterator[str]:
    name = f"old_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE {old_template}")
    try:
        with settings_for(postgres.url(name), tmp_path):
            yield postgres.url(name)
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connection(old_url: str) -> Iterator[Observer]:
    """A connection that uses none of our code, in autocommit."""
    with Observer.open(old_url) as opened:
        yield opened


@pytest.fixture
def old(old_url: str, previous_tree: Path, tmp_path: Path) -> Release:
    return Release(previous_tree, JOURNAL=tmp_path / "journal")


@pytest.fixture
def new(old_url: str, tmp_path: Path) -> Release:
    return Release(ROOT, JOURNAL=tmp_path / "journal")


@pytest.fixture
def keep() -> Iterator[Callable[[_R], _R]]:
    """Ends the given processes after the test."""
    kept: list[Running] = []

    def keep(running: _R) -> _R:
        kept.append(running)
        return running

    try:
        yield keep
    finally:
        for running in kept:
            running.kill()

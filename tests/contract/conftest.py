"""One real server on a socket, with something of everything in its database, for all tests of a module."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conftest import settings_for
from tests.contract.contents import Contents, make_contents
from tests.support.postgres import TestPostgres
from tests.taskapi.running import RunningServer


@pytest.fixture(scope="module")
def server(postgres: TestPostgres, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    name = f"contract_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    folder: Path = tmp_path_factory.mktemp("contract")
    try:
        with settings_for(postgres.url(name), folder), RunningServer() as running:
            yield running
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def contents(server: RunningServer) -> Contents:
    return make_contents(server)

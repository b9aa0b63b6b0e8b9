"""The actors of the tests of the HTTP API."""

import pytest

from state.tasks import catalog
from tests.taskapi.actors import declare_actor


@pytest.fixture
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.load_actors()
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    declare_actor("anything", "stage")

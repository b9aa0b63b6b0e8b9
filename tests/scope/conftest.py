"""Two tenants with one of everything each, and callers of every kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from state.access.caller import Caller
from state.agents import catalog as agents
from state.agents.catalog import AgentSpec
from state.database import connect
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from tests.scope.world import Builder, World
from tests.support.claims import FreePayload
from tests.support.observer import Observer


@pytest.fixture(autouse=True)
def works(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actors and agents that anybody may give work, and some that only operators may."""
    monkeypatch.setattr(catalog, "_actors", {})
    monkeypatch.setattr(agents, "_agents", {})
    for name, queue in (("quick", "one"), ("agent", "agents"), ("project_run", "agents"), ("embedding", "language")):
        catalog.register(ActorSpec(name, queue, FreePayload, 3, lambda: None, 60, STANDARD_POLICY, ""))
    dangerous = ActorSpec("dangerous", "one", FreePayload, 3, lambda: None, 60, STANDARD_POLICY, "", role="operator")
    catalog.register(dangerous)
    agents.register(AgentSpec("free", "run", FreePayload, source="free"))
    agents.register(AgentSpec("urgent", "run", FreePayload, priority=0, source="urgent"))
    agents.register(AgentSpec("command", "run", FreePayload, role="operator", source="command"))


@pytest.fixture
def builder(works: None, connection: Observer, tmp_path: Path) -> Iterator[Builder]:
    with connect("test") as own:
        yield Builder(own, connection, tmp_path)


@dataclass
class Worlds:
    ours: World
    theirs: World
    caller: Caller  # an operator of our tenant


@pytest.fixture
def worlds(builder: Builder) -> Worlds:
    ours, theirs = builder.build("a"), builder.build("b")
    return Worlds(ours, theirs, Caller("operator", tenant="a", key_id="ck_1", name="alice"))

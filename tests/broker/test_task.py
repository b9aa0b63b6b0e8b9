"""`@task`: the defaults from the settings, and the entry in the catalog."""

import dramatiq.broker
import pytest
from pydantic import BaseModel

from broker import TaskBroker
from broker.task import task
from state.settings import get_settings
from state.tasks import catalog


class Anything(BaseModel):
    pass


@pytest.fixture(autouse=True)
def own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_actors", {})
    monkeypatch.setattr(dramatiq.broker, "global_broker", TaskBroker())


def test_the_number_of_attempts_is_a_setting_unless_the_actor_has_its_own(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(ctx: object, request: Anything) -> None:
        raise AssertionError("never called")

    task(name="by default")(work)
    monkeypatch.setenv("CALLBOARD_MAX_ATTEMPTS", "7")
    get_settings.cache_clear()
    task(name="by setting")(work)
    task(name="by itself", max_attempts=2)(work)
    assert {spec.name: spec.max_attempts for spec in catalog.list_actors()} == {
        "by default": 4,
        "by setting": 7,
        "by itself": 2,
    }

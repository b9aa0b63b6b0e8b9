"""The actors that the tests submit to."""

from pydantic import BaseModel, Field

from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec


class AnyPayload(BaseModel, extra="allow"):
    pass


class Limits(BaseModel, extra="forbid"):
    steps: int = Field(1, ge=1, le=10)


class StrictPayload(BaseModel, extra="forbid"):
    text: str
    limits: Limits = Limits()


def declare_actor(name: str, queue: str, payload: type[BaseModel] = AnyPayload) -> None:
    catalog.register(ActorSpec(name, queue, payload, 3, lambda: None, 60, STANDARD_POLICY, "Only for tests."))

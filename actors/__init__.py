"""The actors. `dramatiq actors` imports this package, which sets the broker and declares every actor. The import must
not connect to anything, because Dramatiq forks afterwards."""

from collections.abc import Sequence

import dramatiq

from broker import TaskBroker
from broker.execution.sandboxes import set_starter
from providers.sandbox.limits import Limits
from providers.sandbox.sandbox import Sandbox
from state.settings import get_settings
from state.tasks.catalog import load_actors

broker = TaskBroker()
dramatiq.set_broker(broker)


def _start_sandbox(command: Sequence[str], *, seconds: float, **limits: int) -> Sandbox:
    return Sandbox(command, Limits(seconds=seconds, **limits), get_settings().data_dir / "workspaces")


set_starter(_start_sandbox)

from actors import agent, agents, embedding, media, summarize  # noqa: E402  (they need the broker)

load_actors()

__all__ = ["agent", "agents", "broker", "embedding", "media", "summarize"]

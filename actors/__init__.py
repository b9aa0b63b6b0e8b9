"""The kinds of work. `dramatiq actors` imports this: it sets the broker and declares every kind, and connects to
nothing (Dramatiq forks afterwards)."""

from collections.abc import Sequence

import dramatiq

from broker import TaskBroker
from broker.execution.sandboxes import set_starter
from providers.sandbox.box import Sandbox
from providers.sandbox.limits import Limits
from state.settings import get_settings
from state.tasks.catalog import load_actors

broker = TaskBroker()
dramatiq.set_broker(broker)


def _sandbox(command: Sequence[str], *, seconds: float, **limits: int) -> Sandbox:
    return Sandbox(command, Limits(seconds=seconds, **limits), get_settings().data_dir / "workspaces")


set_starter(_sandbox)

from actors import agent, embedding, media, summarize  # noqa: E402  (they need the broker)

load_actors()

__all__ = ["agent", "broker", "embedding", "media", "summarize"]

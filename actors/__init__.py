"""The kinds of work. `dramatiq actors` imports this: it sets the broker and declares every kind, and connects to
nothing (Dramatiq forks afterwards)."""

import dramatiq

from broker import TaskBroker
from state.catalog import load_actors

broker = TaskBroker()
dramatiq.set_broker(broker)

from actors import agent, embedding, media, summarize  # noqa: E402  (they need the broker)

load_actors()

__all__ = ["agent", "broker", "embedding", "media", "summarize"]

"""The actors. `dramatiq actors` imports this package, which sets the broker and declares every actor. The import must
not connect to anything, because Dramatiq forks afterwards."""

import dramatiq

from actors.sandboxes import LocalSandboxes
from broker import TaskBroker
from broker.execution.sandboxes import set_provider
from providers.settings import list_wrong_variables
from state.settings import SettingsError
from state.tasks.catalog import load_actors

if wrong := list_wrong_variables():
    raise SettingsError(wrong)

broker = TaskBroker()
dramatiq.set_broker(broker)
set_provider(LocalSandboxes())

from actors import agent, agents, embedding, media, project_run, summarize, webhook  # noqa: E402  (they need the broker)

load_actors()

__all__ = ["agent", "agents", "broker", "embedding", "media", "project_run", "summarize", "webhook"]

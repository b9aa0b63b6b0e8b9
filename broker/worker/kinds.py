"""Which tasks threads run and which coroutines run, for the claim: by queue, and by actor where a queue has both."""

from collections.abc import Iterable, Sequence

from state.tasks import catalog
from state.workers.leases import Claimed


class Kinds:
    def __init__(self, queues: Sequence[str]) -> None:
        specs = [spec for spec in catalog.list_actors() if spec.queue in queues]
        self.actors = catalog.list_names()
        self.async_actors = [name for name in self.actors if catalog.is_async(name)]
        self.sync_actors = [name for name in self.actors if not catalog.is_async(name)]
        self._async_queues = {spec.queue for spec in specs if spec.is_async}
        # A queue of actors that this process does not know is read, too: their tasks are parked.
        self._sync_queues = set(queues) - (self._async_queues - {spec.queue for spec in specs if not spec.is_async})

    @property
    def thread_queues(self) -> list[str]:
        return sorted(self._sync_queues)

    @property
    def coroutine_queues(self) -> list[str]:
        return sorted(self._async_queues)

    def learn(self, claimed: Iterable[Claimed]) -> bool:
        """A task may be submitted to another queue than that of its actor. From then on both kinds are looked for
        there. Returns whether that is new: there may be more of them."""
        before = len(self._async_queues) + len(self._sync_queues)
        for task in claimed:
            (self._async_queues if catalog.is_async(task.actor) else self._sync_queues).add(task.queue)
        return len(self._async_queues) + len(self._sync_queues) > before

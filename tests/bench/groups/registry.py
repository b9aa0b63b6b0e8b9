"""All groups, by name, in the order in which they run."""

from collections.abc import Callable

from tests.bench.groups import claim, drain, history, http, idle, latency, memory, recovery, sse, submit, waiting
from tests.bench.groups.group import Group
from tests.bench.groups.sizes import Sizes

GROUPS: dict[str, Callable[[Sizes], Group]] = {
    "submit": submit.group,
    "drain": drain.group,
    "async": waiting.group,
    "latency": latency.group,
    "recovery": recovery.group,
    "memory": memory.group,
    "claim": claim.group,
    "http": http.group,
    "sse": sse.group,
    "idle": idle.group,
    "history": history.group,
}

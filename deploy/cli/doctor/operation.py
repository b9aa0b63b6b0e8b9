"""Checks of what runs: workers, queues, breakers, keys."""

from collections.abc import Iterator

from deploy.cli.doctor.findings import Finding, ok, problem, warning

_STALLED = 60.0  # seconds; as in /health


def check_keys() -> Iterator[Finding]:
    from deploy.cli.up.address import is_loopback
    from state.access.keys import list_keys
    from state.settings import get_settings

    host = get_settings().host
    keys = list_keys()
    usable = [key for key in keys if key.revoked_at is None]
    if not keys and not is_loopback(host):
        remedy = "`callboard keys create`, or CALLBOARD_HOST=127.0.0.1"
        yield problem("keys", f"there are none, and the server is to listen on {host}", remedy)
    elif not keys:
        yield ok("keys", "there are none: only this machine is answered")
    elif not usable:
        yield problem("keys", "all are revoked: nobody is answered", "`callboard keys create`")
    else:
        yield ok("keys", f"{len(usable)} can be used")


def check_workers() -> Iterator[Finding]:
    from state.settings import get_settings
    from state.workers.registry import list_workers

    rows = list_workers()
    silent = [row["id"] for row in rows if row["silent_seconds"] >= get_settings().lease_seconds]
    if len(silent) == len(rows):
        yield problem("workers", "none is alive", "start some: `callboard up`, or `dramatiq actors` on any machine")
    else:
        yield ok("workers", f"{len(rows) - len(silent)} are alive")
    if silent:
        remedy = "are these machines still there? Their tasks are given to others"
        yield warning("workers", f"not heard of lately: {', '.join(silent[:5])}", remedy)


def check_work() -> Iterator[Finding]:
    from state.workers.health import read_system_health

    health = read_system_health()
    if health.unknown_actors:
        text = f"tasks wait for actors that no worker knows: {', '.join(health.unknown_actors)}"
        yield problem("actors", text, "start workers of the release that has them; see CALLBOARD_ACTORS")
    else:
        yield ok("actors", "no task waits for an actor that nobody knows")
    oldest, started = health.oldest_queued_seconds or 0, health.last_started_seconds
    if oldest >= _STALLED and not health.running and (started is None or started >= _STALLED):
        text = f"stalled: a task has been queued for {oldest:.0f} s, and nothing runs"
        yield problem("queues", text, "`callboard queues`: is one paused, or without workers?")
    else:
        yield ok("queues", f"{health.running} tasks run")
    opened = sorted(gate for gate, state in health.breakers.items() if state != "closed")
    if opened:
        text = f"open: {', '.join(opened)}"
        yield warning("breakers", text, "the service fails; its tasks wait and it is probed by itself")
    else:
        yield ok("breakers", "all are closed")

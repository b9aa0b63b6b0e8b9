"""Addresses of a database for each role, and processes that use them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.upgrade.release import ROOT, Release, Running, Server
from tests.webhooks.receiver import Receiver

ACTORS = "actors,tests.support.testactors"
AddressOf = Callable[[str], str]


@pytest.fixture
def address_of(database_url: str) -> AddressOf:
    """The tests' own server trusts everybody: who connects is who the address says."""
    return lambda role: database_url.replace("://postgres@", f"://callboard_{role}@")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver of webhooks that the processes may send to."""
    with Receiver() as running:
        monkeypatch.setenv("CALLBOARD_WEBHOOK_HOSTS", running.host)
        yield running


@pytest.fixture
def api(address_of: AddressOf, receiver: Receiver, tmp_path: Path) -> Iterator[Server]:
    """The real server, as callboard_api."""
    settings = {"CALLBOARD_COMMANDS": "1", "CALLBOARD_ACTORS": ACTORS, "CALLBOARD_LOG_LEVEL": "debug"}
    running = Release(ROOT, CALLBOARD_DATABASE_URL=address_of("api"), **settings).start_server(tmp_path / "http.log")
    try:
        yield running.wait_ready()
    finally:
        running.kill()


@pytest.fixture
def start_workers(address_of: AddressOf, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Real workers, as callboard_worker."""
    started: list[Running] = []

    def start(**settings: object) -> Running:
        release = Release(ROOT, CALLBOARD_DATABASE_URL=address_of("worker"), CALLBOARD_ACTORS=ACTORS, **settings)
        started.append(release.start_workers(tmp_path / f"workers-{len(started)}.log"))
        started[-1].wait_said('"worker ready"')
        return started[-1]

    try:
        yield start
    finally:
        for each in started:
            each.kill()

"""Data directories with an embedded Postgres, and processes that use it."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from state.database.embedded import PostgresServer
from tests.support.embedded import (
    LONG_NAME,
    EmbeddedUser,
    Enter,
    MakeDataDir,
    kill_postgres,
    other_process,
    remove_socket_folder,
)
from tests.support.eventually import eventually


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A data folder with its roles, and their passwords beside it, to be copied: making one takes seconds."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as folder:
        server = PostgresServer(Path(folder) / "postgres")
        server.initialize()
        with (server.data / "postgresql.conf").open("a") as config:
            config.write("fsync = off\n")  # what kills processes does not lose what the kernel has
        server.start(is_unused=lambda: True)
        server.stop()
        yield server.data


@pytest.fixture
def make_data_dir(made: Path) -> Iterator[MakeDataDir]:
    """Not in pytest's own folder, which other users of the machine cannot enter."""
    created: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as folder:
        Path(folder).chmod(0o755)

        def make(name: str) -> Path:
            data_dir = Path(folder) / name
            data_dir.mkdir()
            subprocess.run(["cp", "-a", str(made), f"{made}.passwords", str(data_dir)], check=True)
            created.append(data_dir)
            return data_dir

        yield make
        for data_dir in created:
            kill_postgres(data_dir)
            remove_socket_folder(data_dir)


@pytest.fixture
def data_dir(make_data_dir: MakeDataDir) -> Path:
    return make_data_dir("data")


@pytest.fixture(params=["data", LONG_NAME], ids=["short path", "long path"])
def any_data_dir(request: pytest.FixtureRequest, make_data_dir: MakeDataDir) -> Path:
    return make_data_dir(request.param)


@pytest.fixture
def enter(make_data_dir: MakeDataDir) -> Iterator[Enter]:
    """Starts processes that use a database; kills those that are left."""
    started: list[EmbeddedUser] = []

    def start(data_dir: Path, **options: object) -> EmbeddedUser:
        started.append(EmbeddedUser(data_dir, **options))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


@pytest.fixture(params=["a zombie", "another program"])
def recycled_pid(request: pytest.FixtureRequest, made: Path) -> Iterator[int]:
    """A pid that Postgres takes for its own server when it stands in a lock file."""
    command = ["true"] if request.param == "a zombie" else ["sleep", "600"]
    process = other_process(made, *command)
    if request.param == "a zombie":
        eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()

"""The installation that the image has, made once for all processes of the tests."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from state.database.embedded.filelock import FileLock, wait_until
from tests.deploy.image import build_image
from tests.support.memory import find_memory_folder


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """The folder that the image has at /opt/callboard. The last process that uses it removes it."""
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent
    made = shared / "image.made"  # says where it is
    with FileLock(shared / "image.users") as users:
        with FileLock(shared / "image.lock") as lock:
            assert wait_until(lock.try_exclusive, 600)
            assert wait_until(users.try_shared, 60)
            if not made.exists():
                folder = tempfile.mkdtemp(prefix="callboard-image-", dir=find_memory_folder())
                try:
                    build_image(Path(folder))
                except BaseException:
                    shutil.rmtree(folder)
                    raise
                made.write_text(folder)
        image = Path(made.read_text())
        yield image / "venv"
        with FileLock(shared / "image.lock") as lock:
            assert wait_until(lock.try_exclusive, 600)
            if users.try_exclusive():
                made.unlink()
                shutil.rmtree(image)

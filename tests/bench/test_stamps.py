"""Stamps arrive from other processes, all of them, while those still run."""

import os
import threading
from pathlib import Path

import pytest

from tests.bench.peers import stamps
from tests.bench.peers.stamps import Stamps


def test_stamps_of_many_threads_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stamps.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(stamps, "_sheets", {})
    reader = Stamps(tmp_path)
    assert reader.poll() == 0

    stamps.record(-1, 5.0)
    assert reader.poll() == 1

    def work(first: int) -> None:
        for number in range(500):
            stamps.record(first + number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 4000, 500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert reader.poll() == 4001
    assert {stamp.task for stamp in reader.all()} == {-1, *range(4000)}
    assert reader.processes() == [os.getpid()]

"""`callboard up` prints the warnings and errors of its services' logs."""

from pathlib import Path

import pytest

from deploy.cli.up.logtail import LogTail, rotate


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return rotate(tmp_path / "logs" / "workers.log")


def write(log: Path, *lines: str) -> None:
    with log.open("a") as out:
        out.writelines(f"{line}\n" for line in lines)


def test_shows_warnings_and_errors_of_all_formats(log: Path) -> None:
    tail = LogTail(log)
    write(
        log,
        '{"task_id": "tq_1", "event": "transition", "level": "info"}',
        '{"task_id": "tq_1", "event": "attempt failed", "level": "warning", "timestamp": "now"}',
        '{"event": "pulse: unexpected error", "level": "error", "exception": "Traceback\\n  x\\nValueError: no"}',
        "[2026-01-01 00:00:00,000] [PID 1] [MainThread] [dramatiq.MainProcess] [INFO] Dramatiq is booting up.",
        "[2026-01-01 00:00:00,000] [PID 1] [MainThread] [dramatiq.MainProcess] [CRITICAL] Worker exited unexpectedly",
        "INFO:     Started server process",
        "ERROR:    Exception in ASGI application",
        "what an actor prints",
    )
    assert tail.read_new() == [
        ("warning", "attempt failed: task_id tq_1"),
        ("error", "pulse: unexpected error: ValueError: no"),
        ("critical", "Worker exited unexpectedly"),
        ("error", "Exception in ASGI application"),
    ]
    assert tail.read_new() == []


def test_a_traceback_is_shown_as_its_last_line(log: Path) -> None:
    tail = LogTail(log)
    write(
        log,
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in <module>',
        "[2026-01-01 00:00:00,000] [PID 2] [MainThread] [dramatiq] [INFO] another process's line",
        "    import nothing",
        "ModuleNotFoundError: No module named 'nothing'",
        "more of the same",
    )
    assert tail.read_new() == [("error", "ModuleNotFoundError: No module named 'nothing'")]


def test_similar_messages_are_shown_once(log: Path) -> None:
    tail = LogTail(log)
    write(log, *(f'{{"event": "lease lost", "task_id": "tq_{n:032x}", "level": "warning"}}' for n in range(100)))
    assert len(tail.read_new()) == 1


def test_waits_for_the_end_of_a_line(log: Path) -> None:
    tail = LogTail(log)
    log.write_text("ERROR:    half")
    assert tail.read_new() == []
    write(log, " and half")
    assert tail.read_new() == [("error", "half and half")]


def test_a_log_that_was_emptied_or_removed(log: Path) -> None:
    tail = LogTail(log)
    write(log, "ERROR:    a first and rather long line")
    assert len(tail.read_new()) == 1
    log.write_text("ERROR:    new\n")
    assert tail.read_new() == [("error", "new")]
    log.unlink()
    assert tail.read_new() == []


def test_rotation_keeps_the_run_before(log: Path) -> None:
    write(log, "old")
    rotate(log)
    assert log.read_text() == ""
    assert log.with_name("workers.log.1").read_text() == "old\n"

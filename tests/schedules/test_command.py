"""`callboard schedules`: the command as a process of its own."""

from functools import partial

from tests.cli import command
from tests.schedules.conftest import MakeSchedule

succeed, answer, refusal = command.succeed, command.answer, command.refusal
schedules = partial(succeed, "schedules")


def test_a_schedule_from_beginning_to_end(make_schedule: MakeSchedule) -> None:
    made = schedules("create", "fox", "30 6 * * 1-5", "note", "--set", "text=a", "--timezone", "Europe/Berlin").strip()
    assert made in schedules("list")
    shown = schedules("show", made)
    assert "At 06:30 on Monday through Friday (Europe/Berlin)" in shown
    assert "2030-05-16 06:30+02:00" in shown
    assert "paused" in schedules("pause", made)
    task_id = schedules("run", made).strip()
    assert task_id in schedules("runs", made)
    assert answer("schedules", "resume", made)["next_at"].startswith("2030-05-16T04:30:00")
    assert "already" in refusal(4, "schedules", "create", "fox", "@daily", "note")
    assert "bad minute" in refusal(2, "schedules", "create", "x", "61 * * * *", "note")
    assert "is deleted" in schedules("delete", made)
    assert "no schedule" in refusal(3, "schedules", "show", made)
    assert "No schedules." in schedules("list")

"""`callboard schedules`: the command as a process of its own. The other commands are run as docs/schedules.md shows."""

from tests.cli.command import answer, refusal, succeed
from tests.schedules.conftest import MakeSchedule


def test_what_people_see(make_schedule: MakeSchedule) -> None:
    arguments = ("fox", "30 6 * * 1-5", "note", "--set", "text=a", "--timezone", "Europe/Berlin")
    made = succeed("schedules", "create", *arguments).strip()
    shown = succeed("schedules", "show", made)
    assert "At 06:30 on Monday through Friday (Europe/Berlin)" in shown
    assert "2030-05-16 06:30+02:00" in shown
    changed = answer("schedules", "change", made, "--cron", "0 7 * * *", "--payload", '{"text": "b"}')
    assert (changed["cron"], changed["timezone"], changed["payload"]["text"]) == ("0 7 * * *", "Europe/Berlin", "b")
    assert "Say what to change" in refusal(2, "schedules", "change", made)
    task_id = succeed("schedules", "run", made).strip()
    [run] = answer("schedules", "runs", made)["items"]
    assert (run["task_id"], run["tick"]) == (task_id, None)
    assert "already" in refusal(4, "schedules", "create", *arguments)
    assert "bad minute" in refusal(2, "schedules", "create", "x", "61 * * * *", "note")
    assert "no schedule" in refusal(3, "schedules", "show", made.replace(made[-1], "0" if made[-1] != "0" else "1"))


def test_preview(database_url: str) -> None:
    assert succeed("schedules", "preview", "@daily").startswith("At 00:00 every day (UTC)\n")
    found = answer("schedules", "preview", "0 7 * * 1", "--timezone", "Europe/Berlin")
    assert (found["description"], len(found["next_ticks"])) == ("At 07:00 on Monday", 5)
    assert "such as" in refusal(2, "schedules", "preview", "often")

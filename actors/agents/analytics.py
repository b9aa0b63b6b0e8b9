"""An agent that reads the metrics of a day and writes a report. It needs no language model."""

import datetime  # fields are named `date`
from collections.abc import Callable, Iterable

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, agent
from providers.errors import InvalidInput
from state.metrics.days import get_day
from state.metrics.reads import TaskMetrics
from state.schedules import declare_schedule


class DailyInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    date: datetime.date | None = Field(
        None, ge=datetime.date(1970, 1, 2), le=datetime.date(9000, 1, 1), description="In UTC. Default: yesterday."
    )
    top: int = Field(5, ge=1, le=100, description="The length of the lists of the slowest and the most failing.")


class Figures(BaseModel):
    """What happened to some tasks in a day."""

    tasks_created: int = 0
    tasks_completed: int = 0
    tasks_failed: int = 0
    attempts: int = 0
    attempts_failed: int = 0
    error_rate: float | None = None
    average_latency: float | None = None
    greatest_latency: float | None = None


class Group(Figures):
    """The figures of an actor, or of one task type of an agent."""

    actor: str
    agent_name: str
    task_type: str

    @property
    def name(self) -> str:
        return f"{self.agent_name} / {self.task_type}" if self.agent_name else self.actor


class DailyReport(BaseModel):
    date: datetime.date
    complete: bool = Field(description="False if the day is not over, or not all of it is measured.")
    totals: Figures
    day_before: Figures
    groups: list[Group] = Field(description="By actor and agent, those with the most new tasks first.")
    most_failing: list[Group] = Field(description="Those with failed attempts, the highest error rate first.")
    slowest: list[Group] = Field(description="The longest average latency first.")
    worker_heartbeat_delay: float | None = Field(description="The worst of the day, in seconds.")
    text: str = Field(description="The report in Markdown.")


# When the last minutes of the day have been measured.
declare_schedule("daily report", "15 0 * * *", "agent", {"agent_name": "analytics", "task_type": "daily"})


@agent("analytics", "daily", priority="low")
def report_day(ctx: Context, request: DailyInput) -> DailyReport:
    """Reports how the queues did on a day: tasks, failures, latencies, heartbeats, compared with the day before."""
    if ctx.tenant is not None:
        raise InvalidInput("The report is about the work of all tenants: a task of one tenant does not get it.")
    found = get_day(request.date)
    ctx.progress(50, f"{len(found.rows)} actors and agents on {found.day}")
    before = get_day(found.day - datetime.timedelta(days=1))
    groups = sorted((_make_group(row) for row in found.rows), key=lambda group: (-group.tasks_created, group.name))
    delays = [row.worker_heartbeat_delay for row in found.rows if row.worker_heartbeat_delay is not None]
    report = DailyReport(
        date=found.day,
        complete=found.complete,
        totals=add_up(found.rows),
        day_before=add_up(before.rows),
        groups=groups,
        most_failing=_rank(groups, lambda group: group.error_rate)[: request.top],
        slowest=_rank(groups, lambda group: group.average_latency)[: request.top],
        worker_heartbeat_delay=max(delays, default=None),
        text="",
    )
    return report.model_copy(update={"text": "\n".join(_write(report))})


def add_up(rows: Iterable[TaskMetrics]) -> Figures:
    """Returns the sums. The average of all is weighted by the tasks, as if each were looked at."""
    rows = list(rows)
    attempts, failed = sum(row.attempts for row in rows), sum(row.attempts_failed for row in rows)
    completed = sum(row.tasks_completed for row in rows)
    seconds = sum(row.average_latency * row.tasks_completed for row in rows if row.average_latency is not None)
    return Figures(
        tasks_created=sum(row.tasks_created for row in rows),
        tasks_completed=completed,
        tasks_failed=sum(row.tasks_failed for row in rows),
        attempts=attempts,
        attempts_failed=failed,
        error_rate=failed / attempts if attempts else None,
        average_latency=seconds / completed if completed else None,
        greatest_latency=max((row.greatest_latency for row in rows if row.greatest_latency is not None), default=None),
    )


def _make_group(row: TaskMetrics) -> Group:
    return Group.model_validate(row.model_dump(include=set(Group.model_fields)))


def _rank(groups: Iterable[Group], measure: Callable[[Group], float | None]) -> list[Group]:
    """Sorts the groups that have any of what is measured, the most first."""
    return sorted((group for group in groups if measure(group)), key=lambda group: (-(measure(group) or 0), group.name))


def _write(report: DailyReport) -> Iterable[str]:
    totals, before = report.totals, report.day_before
    yield f"# Task queues on {report.date}" + ("" if report.complete else " (not complete)")
    yield ""
    if not report.groups:
        yield "No tasks."
        return
    yield f"- Created: {totals.tasks_created} ({_compare(totals.tasks_created, before.tasks_created)})"
    yield f"- Completed: {totals.tasks_completed} ({_compare(totals.tasks_completed, before.tasks_completed)})"
    yield f"- Failed: {totals.tasks_failed} ({_compare(totals.tasks_failed, before.tasks_failed)})"
    yield f"- Error rate of attempts: {_show_rate(totals.error_rate)} (the day before: {_show_rate(before.error_rate)})"
    yield f"- Average latency: {_show(totals.average_latency)} (the day before: {_show(before.average_latency)})"
    yield f"- Longest latency: {_show(totals.greatest_latency)}"
    yield f"- Worst heartbeat delay of a worker: {_show(report.worker_heartbeat_delay)}"
    yield from _tabulate("By actor and agent", report.groups)
    if report.most_failing:
        yield from _tabulate("Highest error rates", report.most_failing)
    if report.slowest:
        yield from _tabulate("Slowest", report.slowest)


def _tabulate(title: str, groups: Iterable[Group]) -> Iterable[str]:
    yield from ("", f"## {title}", "")
    yield "| what | created | completed | failed | error rate | average latency | longest |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for group in groups:
        counts = f"{group.tasks_created} | {group.tasks_completed} | {group.tasks_failed}"
        latencies = f"{_show(group.average_latency)} | {_show(group.greatest_latency)}"
        yield f"| {group.name.replace('|', '/')} | {counts} | {_show_rate(group.error_rate)} | {latencies} |"


def _compare(value: int, before: int) -> str:
    if value == before:
        return "as on the day before"
    share = f", {(value - before) / before:+.0%}" if before else ""
    return f"{value - before:+d} against the day before{share}"


def _show(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"


def _show_rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"

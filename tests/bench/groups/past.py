"""A past for the group history: finished tasks of many kinds, made by Postgres, moved as tasks move.

Row n belongs to class n % CLASSES, and all its columns follow from the class. So a filter matches a twentieth of the
history, two filters of one class match the same rows, and two of different classes match many rows each and none
together: the hardest question for an index.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg

CLASSES = 20
CHUNK = 25_000
EVENTS = 4  # of each task
TENANT = "tenant-0"
_ENDS = ("completed", "canceled", "dead")
# Columns that a row does not take over from the model.
_OWN = ("id", "actor", "queue", "lane", "tenant", "target", "workflow_id", "payload", "status", "rank", "created_at")


@dataclass(frozen=True)
class Case:
    """One question to the list of tasks."""

    filters: Mapping[str, str]
    matches: bool
    tenant_key: bool

    def __str__(self) -> str:
        asked = " ".join(f"{name}={value}" for name, value in self.filters.items()) or "nothing"
        return f"{asked}{' with the key of a tenant' if self.tenant_key else ''}"


def values_of(number: int) -> dict[str, str]:
    """The filters that match a task of this class. Class 0 belongs to TENANT, as do 3, 6 and so on."""
    end = _ENDS[number % 3]
    found = {
        "status": end,
        "actor": f"actor-{number}",
        "agent_name": f"agent-{number}",
        "task_type": f"type-{number}",
        "queue": f"queue-{number % 10}",
        "lane": "retry" if number % 2 else "primary",
        "workflow_id": f"wf_{number:026}",
        "workflow_run_id": f"run-{number}",
        "tenant": f"tenant-{number % 3}",
        "target": f"target-{number}",
    }
    return {**found, **errors_of(number)} if end == "dead" else found


def errors_of(number: int) -> dict[str, str]:
    """The fingerprint is that of callboard.error_fingerprint."""
    fingerprint = hashlib.sha256(f"Error{number}\nno".encode()).hexdigest()[:16]
    return {"error_type": f"Error{number}", "fingerprint": fingerprint}


def make_cases(names: list[str]) -> Iterator[Case]:
    """Every filter and every pair, matching and not, with an operator's key and with that of a tenant."""
    classes = [values_of(number) for number in range(CLASSES)]
    known = [name for name in names if any(name in each for each in classes)]
    groups = [[name] for name in known] + [[one, two] for i, one in enumerate(known) for two in known[i + 1 :]]
    for tenant_key in (False, True):
        visible = [each for each in classes if not tenant_key or each["tenant"] == TENANT]
        yield Case({}, True, tenant_key)
        for group in groups:
            for filters, matches in _choose(group, visible or classes, classes):
                yield Case(filters, matches, tenant_key)


def _choose(
    names: list[str], visible: list[dict[str, str]], classes: list[dict[str, str]]
) -> Iterator[tuple[dict[str, str], bool]]:
    whole = [each for each in visible if all(name in each for name in names)]
    if whole:
        yield {name: whole[0][name] for name in names}, True
    if len(names) == 1:
        if names[0] not in ("status", "lane"):  # of those, every value exists
            yield {names[0]: "nobody"}, False
        return
    one, two = names
    for first in [*visible, *classes]:
        for second in classes:
            if one in first and two in second:
                filters = {one: first[one], two: second[two]}
                if not any(filters.items() <= each.items() for each in visible):
                    yield filters, False
                    return


def insert_past(connection: psycopg.Connection, model: str, first: int, count: int) -> None:
    """Rows first .. first + count - 1: they enter as queued tasks, start and end, a chunk after the other."""
    names = connection.execute(
        "select string_agg(quote_ident(column_name), ', ') from information_schema.columns"
        " where table_schema = 'callboard' and table_name = 'tasks' and is_generated = 'NEVER'"
        " and column_name <> all (%s)",
        [list(_OWN)],
    ).fetchone()
    assert names
    rest = str(names[0])
    connection.execute("set statement_timeout = 0")
    connection.execute(_WORKFLOWS.encode())
    # The workflows are over: nothing follows from the end of their tasks.
    connection.execute("alter table callboard.tasks disable trigger follow_task")
    for start in range(first, first + count, CHUNK):
        stop = min(start + CHUNK, first + count) - 1
        with connection.transaction():
            connection.execute(_INSERT.format(rest=rest, model=model, first=start, last=stop).encode())
            connection.execute(_START.format(first=start, last=stop).encode())
            connection.execute(_END.format(first=start, last=stop).encode())
            connection.execute(_EVENTS.format(first=start, last=stop).encode())
            connection.execute(_ATTEMPTS.format(first=start, last=stop).encode())
    connection.execute("alter table callboard.tasks enable trigger follow_task")


_WORKFLOWS = f"""
insert into callboard.workflows (id, name, status, created_at, updated_at, finished_at)
select 'wf_' || lpad(c::text, 26, '0'), 'past', 'completed', now(), now(), now()
from generate_series(0, {CLASSES - 1}) c
on conflict do nothing
"""
_ID = "'tq_' || lpad(n::text, 32, '0')"
_INSERT = f"""
insert into callboard.tasks ({", ".join(_OWN)}, {{rest}})
select {_ID}, 'actor-' || c, 'queue-' || c % 10, case when c % 2 = 1 then 'retry' else 'primary' end,
       'tenant-' || c % 3, 'target-' || c, 'wf_' || lpad(c::text, 26, '0'),
       jsonb_build_object('agent_name', 'agent-' || c, 'task_type', 'type-' || c, 'workflow_run_id', 'run-' || c),
       'queued', rank + n, created_at - interval '1 year' + n * interval '1 second', {{rest}}
from callboard.tasks model, generate_series({{first}}, {{last}}) n, lateral (select n % {CLASSES} as c) class
where model.id = '{{model}}'
"""
_RANGE = "id between 'tq_' || lpad('{first}', 32, '0') and 'tq_' || lpad('{last}', 32, '0')"
_START = f"update callboard.tasks set status = 'running', started_at = created_at, attempt = 1 where {_RANGE}"
_CLASS = f"right(id, 12)::bigint % {CLASSES}"
_END = f"""
update callboard.tasks
set last_event = {EVENTS}, epoch = 1, status = (array['completed', 'canceled', 'dead'])[{_CLASS} % 3 + 1],
    finished_at = created_at, updated_at = created_at,
    error = case when {_CLASS} % 3 = 2 then jsonb_build_object('type', 'Error' || {_CLASS}, 'message', 'no') end
where {_RANGE}
"""
_EVENTS = f"""
insert into callboard.events (task_id, n, kind, data, at)
select t.id, n, case n when 3 then 'token' else 'status' end, case n
       when 1 then '{{{{"from": null, "to": "queued"}}}}'
       when 2 then '{{{{"from": "queued", "to": "running", "attempt": 1}}}}'
       when 3 then '{{{{"text": "a piece of an answer"}}}}'
       else jsonb_build_object('from', 'running', 'to', t.status) end::jsonb, t.created_at
from callboard.tasks t, generate_series(1, {EVENTS}) n where {_RANGE}
"""
_ATTEMPTS = f"""
insert into callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
select t.id, 1, 1, 'past', case status when 'dead' then 'failed' else status end, t.error, t.started_at, t.finished_at
from callboard.tasks t where {_RANGE}
"""

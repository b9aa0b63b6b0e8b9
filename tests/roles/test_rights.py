"""Which role may do what. The list here is written down a second time on purpose: a new table needs a decision."""

import psycopg
import pytest

from tests.roles.conftest import AddressOf
from tests.support.observer import Observer

READ, ADD, ALTER, REMOVE = "SELECT", "INSERT", "UPDATE", "DELETE"
CHANGE = {READ, ADD, ALTER}
ALL = {READ, ADD, ALTER, REMOVE}

# table: rights of callboard_api, rights of callboard_worker. callboard_reader has none on any table.
RIGHTS: dict[str, tuple[set[str], set[str]]] = {
    "callboard.actor_pace": ({READ}, CHANGE),
    "callboard.agent_events": ({READ, "UPDATE hidden_at"}, CHANGE),
    "callboard.api_keys": (
        {READ, ADD, "UPDATE id", "UPDATE last_used_at", "UPDATE revoked_at", "UPDATE revoked_by"},
        set(),
    ),
    "callboard.applied_files": (set(), set()),
    "callboard.attempts": ({READ, ADD}, {READ, ADD}),
    "callboard.attempts_before": (set(), set()),  # partitions are reached through their table
    "callboard.attempts_later": (set(), set()),
    "callboard.contents": ({READ}, CHANGE),
    "callboard.dedup": (CHANGE, ALL),
    "callboard.events": ({READ, ADD}, {READ, ADD}),
    "callboard.events_before": (set(), set()),
    "callboard.events_later": (set(), set()),
    "callboard.events_of_projects": (set(), set()),
    "callboard.events_of_workflows": (set(), set()),
    "callboard.finished_counts": ({READ, ADD}, {READ, ADD, REMOVE}),
    "callboard.gate_changes": ({READ, ADD}, {READ, ADD}),
    "callboard.gate_changes_id_seq": (set(), set()),
    "callboard.gate_results": ({READ}, {READ, ADD, REMOVE}),
    "callboard.gate_samples": ({READ}, {READ, ADD, REMOVE}),
    "callboard.gate_starts": ({READ}, {READ, ADD, REMOVE}),
    "callboard.gates": (CHANGE, CHANGE),
    "callboard.generations": ({READ}, CHANGE),
    "callboard.idempotency": (CHANGE, {READ, REMOVE}),
    "callboard.leases": ({READ, "UPDATE cancel_requested", REMOVE}, ALL),
    "callboard.maintainer": ({READ, ALTER}, {READ, ALTER}),
    "callboard.metrics_progress": ({READ}, {READ, ALTER}),
    "callboard.project_items": (CHANGE, {READ, ALTER}),
    "callboard.projects": (CHANGE, {READ, ALTER}),
    "callboard.prompts": (CHANGE, {READ}),
    "callboard.reservations": ({READ, REMOVE}, ALL),
    "callboard.runs": (CHANGE, CHANGE),
    "callboard.sandboxes": ({READ}, CHANGE),
    "callboard.schedule_runs": ({READ, ADD}, {READ, ADD}),
    "callboard.schedules": (CHANGE, CHANGE),
    "callboard.schema_version": ({READ}, {READ}),
    "callboard.slots": ({READ, REMOVE}, ALL),
    "callboard.stored_bytes": (set(), ALL),
    "callboard.task_queue_metrics": ({READ}, ALL),
    "callboard.tenant_metrics": ({READ}, ALL),
    "callboard.task_queue_metrics_daily": ({READ}, {READ, ADD, REMOVE}),
    "callboard.tasks": (CHANGE, CHANGE),
    "callboard.timelines": (set(), CHANGE),
    "callboard.webhook_deliveries": ({READ, ADD}, {READ, ADD}),
    "callboard.webhook_secrets": (ALL, {READ, ADD}),
    "callboard.workers": ({READ, "UPDATE stopped_at"}, CHANGE),
    "callboard.workflow_steps": (CHANGE, CHANGE),
    "callboard.workflows": (CHANGE, CHANGE),
    "dramatiq.queue": (set(), ALL),
}

# Everything but the owner's own rights, of tables, views, sequences and their columns.
GRANTED = """
SELECT n.nspname || '.' || c.relname AS name, c.relkind, coalesce(r.rolname, 'PUBLIC') AS role,
       a.privilege_type || coalesce(' ' || a.attname, '') AS privilege
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN LATERAL (
    SELECT x.grantee, x.privilege_type, NULL AS attname FROM aclexplode(c.relacl) AS x
    UNION ALL
    SELECT x.grantee, x.privilege_type, p.attname FROM pg_attribute p, aclexplode(p.attacl) AS x
    WHERE p.attrelid = c.oid
) AS a ON a.grantee <> c.relowner
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE n.nspname IN ('callboard', 'admin', 'dramatiq') AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
"""


def read_granted(connection: Observer) -> dict[tuple[str, str], dict[str, set[str]]]:
    """Returns the rights of each role, by name and kind of relation."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for row in connection.execute(GRANTED):
        rights = found.setdefault((row["name"], row["relkind"]), {})
        if row["privilege"] is not None:
            rights.setdefault(row["role"], set()).add(row["privilege"])
    return found


def test_each_role_has_exactly_its_rights_on_each_table(connection: Observer) -> None:
    granted = read_granted(connection)
    tables = {name: rights for (name, kind), rights in granted.items() if kind != "v"}
    expected = {
        name: {role: rights for role, rights in (("callboard_api", api), ("callboard_worker", worker)) if rights}
        for name, (api, worker) in RIGHTS.items()
    }
    assert tables == expected
    views = {name: rights for (name, kind), rights in granted.items() if kind == "v"}
    assert views == {name: {"callboard_reader": {"SELECT"}} for name in views}
    assert "admin.tasks" in views


def test_functions_are_for_those_who_need_them(connection: Observer) -> None:
    """Functions run with the rights of their caller. Those that do not cannot write, except the one that makes
    partitions, and have a search path."""
    rows = connection.execute(
        "SELECT p.oid::regprocedure::text AS name, p.proname, p.prosecdef, p.provolatile, p.proconfig,"
        " ARRAY(SELECT coalesce(r.rolname, 'PUBLIC') FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x"
        "   LEFT JOIN pg_roles r ON r.oid = x.grantee WHERE x.grantee <> p.proowner ORDER BY 1)::text[] AS roles "
        "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname IN ('callboard', 'admin', 'dramatiq')"
    ).fetchall()
    both = ["callboard_api", "callboard_worker"]
    for_views = {"now", "why_waiting", "workflow_lives"}
    assert {row["name"]: row["roles"] for row in rows} == {
        row["name"]: [both[0], "callboard_reader", both[1]]
        if row["proname"] in for_views
        else (["callboard_worker"] if row["proname"] == "make_partition" else both)
        for row in rows
    }
    definers = [row for row in rows if row["prosecdef"]]
    assert {row["proname"] for row in definers} == (for_views - {"now"}) | {"make_partition"}
    for row in definers:
        assert row["provolatile"] == ("v" if row["proname"] == "make_partition" else "s")
        assert "search_path=pg_catalog, pg_temp" in row["proconfig"]


def test_schemas_are_closed_to_everybody_else(connection: Observer) -> None:
    rows = connection.execute(
        "SELECT n.nspname, ARRAY(SELECT coalesce(r.rolname, 'PUBLIC') || ' ' || x.privilege_type"
        "  FROM aclexplode(n.nspacl) x LEFT JOIN pg_roles r ON r.oid = x.grantee"
        "  WHERE x.grantee <> n.nspowner ORDER BY 1) AS granted"
        " FROM pg_namespace n WHERE n.nspname IN ('callboard', 'admin', 'dramatiq') ORDER BY 1"
    ).fetchall()
    assert {row["nspname"]: row["granted"] for row in rows} == {
        "admin": ["callboard_reader USAGE"],
        "callboard": ["callboard_api USAGE", "callboard_worker USAGE"],
        "dramatiq": ["callboard_worker USAGE"],
    }


FORBIDDEN = {
    "api": [
        "INSERT INTO callboard.leases (task_id, epoch) VALUES ('t', 1)",
        "UPDATE callboard.leases SET expires_at = now()",
        "UPDATE callboard.workers SET seen_at = now()",
        "DELETE FROM callboard.tasks",
        "UPDATE callboard.events SET data = '{}'",
        "DELETE FROM callboard.events",
        "UPDATE callboard.api_keys SET role = 'operator', tenant = NULL",
        "UPDATE callboard.api_keys SET secret_hash = ''",
        "SELECT * FROM dramatiq.queue",
    ],
    "worker": [
        "SELECT * FROM callboard.api_keys",
        "INSERT INTO callboard.api_keys (id) VALUES ('ck_1')",
        "DELETE FROM callboard.webhook_secrets",
        "UPDATE callboard.webhook_secrets SET secret = ''",
        "DELETE FROM callboard.tasks",
        "DELETE FROM callboard.attempts",
        "UPDATE callboard.prompts SET text = ''",
    ],
    "reader": [
        "SELECT * FROM callboard.tasks",
        "SELECT callboard.now()",
        "SELECT callboard.why_waiting(t) FROM admin.tasks t",
        "INSERT INTO admin.events VALUES ('t', 1, 'log', '{}', now())",
        "DELETE FROM admin.events",
        "UPDATE admin.api_keys SET role = 'operator'",
    ],
}
FOR_NOBODY = [
    "TRUNCATE callboard.tasks",
    "DROP TABLE callboard.tasks",
    "ALTER TABLE callboard.tasks DISABLE TRIGGER ALL",
    "CREATE TABLE callboard.mine (id integer)",
    "CREATE OR REPLACE FUNCTION callboard.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'",
    "UPDATE callboard.schema_version SET version = 99",
    "DELETE FROM callboard.applied_files",
    "CREATE ROLE mine",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
]


@pytest.mark.parametrize("role", FORBIDDEN)
def test_what_a_role_may_not_do_is_refused(role: str, address_of: AddressOf) -> None:
    with psycopg.connect(address_of(role), autocommit=True) as connection:
        for command in FORBIDDEN[role] + FOR_NOBODY:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(command.encode())

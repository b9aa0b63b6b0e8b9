"""Checks of the database: that it can be used, and how it is reached."""

from collections.abc import Iterator
from datetime import UTC, datetime

from deploy.cli.doctor.findings import Finding, ok, problem, warning

_OLDEST = 150000  # server_version_num
_SKEW = 5.0  # seconds
_ROLES = ["callboard_api", "callboard_reader", "callboard_worker"]


def check_database() -> Iterator[Finding]:
    """The first problem ends the check: what follows needs the database."""
    from state.database.errors import DatabaseError
    from state.installation import read_installation
    from state.settings import get_settings

    settings = get_settings()
    folder = settings.data_dir / "postgres"
    if settings.database_url is None and not (folder / "PG_VERSION").exists():
        yield problem("database", f"there is none in {folder}", "`callboard migrate` or `make up` makes one")
        return
    try:
        found = read_installation()
    except DatabaseError as lost:
        reason = " ".join(str(lost).split())
        remedy = "is it running? `make up` starts an embedded one; CALLBOARD_DATABASE_URL says where it is"
        yield problem("database", f"cannot be reached: {reason}", remedy)
        return
    version = f"PostgreSQL {found.version // 10000}.{found.version % 10000}"
    if found.version < _OLDEST:
        yield problem("database", f"{version} is too old", "use PostgreSQL 15 or newer")
        return
    if found.standby:
        yield problem("database", "is a standby: nothing can be written", "name the primary in CALLBOARD_DATABASE_URL")
        return
    yield ok("database", version)
    yield from _check_schema()
    yield _check_clock(found.now)
    if found.superuser:
        text = f"commands, servers and workers that use this address are superuser ({found.role})"
        yield warning("role", text, "use the least-privilege roles; docs/security.md")
    else:
        yield ok("role", found.role)
    if missing := [role for role in _ROLES if role not in found.roles]:
        yield warning("roles", f"missing: {', '.join(missing)}", "create them and migrate again; docs/security.md")
    yield _check_pooler()


def _check_schema() -> Iterator[Finding]:
    from state.errors import NotReady
    from state.schema.version import VERSION, require_current_schema

    try:
        require_current_schema()
    except NotReady as reason:
        yield problem("schema", str(reason), "run `callboard migrate` of the newest release")
    else:
        yield ok("schema", f"{VERSION} or newer, which works with this release")


def _check_clock(theirs: datetime) -> Finding:
    skew = abs((datetime.now(UTC) - theirs).total_seconds())
    if skew < _SKEW:
        return ok("clock", "agrees with the database's")
    text = f"differs from the database's by {skew:.0f} s: tasks are not affected, times in logs and tokens are"
    return warning("clock", text, "run a time service (NTP) on both machines")


def _check_pooler() -> Finding:
    from state.installation import read_installation

    if not read_installation(direct=True).pooled:
        return ok("listen", "LISTEN has a direct connection")
    text = "LISTEN and migrations go through a pooler, which loses notifications: work starts late"
    return problem("listen", text, "set CALLBOARD_DIRECT_URL to the address of Postgres itself")


def check_vectors() -> Iterator[Finding]:
    from state.agents.events import explain_missing_vectors

    missing = explain_missing_vectors()
    if missing is None:
        yield ok("pgvector", "agent events are searched by vectors")
    else:
        reason, _, remedy = missing.partition(": ")
        yield warning("pgvector", f"{reason}; agent events are searched by words", remedy or "install it")

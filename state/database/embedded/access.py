"""Who may connect to the embedded Postgres: its four roles, each with its password, and nobody else. The superuser that
`initdb` has made has no password and no entry.

Up to schema 22 everybody who reached the socket was trusted. Such a folder is changed at the first start of a later
release, before the server runs."""

from collections.abc import Callable
from pathlib import Path

from psycopg import sql

from state.database.embedded.passwords import ROLES, Passwords, make_verifier
from state.database.fragments import read_filled
from state.database.statements import statement
from state.disk import sync

_RULES = """\
# Written by Callboard ({fingerprint}). Lines that are added below are kept.
local all {roles} scram-sha-256
"""
_SCRIPT = Path(__file__).with_name("roles.sql")


def passwords_of(data: Path) -> Passwords:
    return Passwords(data.with_name(f"{data.name}.passwords"))


def asks_for_passwords(data: Path) -> bool:
    """Returns whether the roles exist, with the passwords of the file, and nobody else can connect."""
    try:
        return (data / "pg_hba.conf").read_text(errors="replace").startswith(_rules(data))
    except FileNotFoundError:
        return False


def ask_for_passwords(data: Path, give: Callable[[Path], None], run: Callable[[str, str], None]) -> None:
    """Makes the roles, then the rules: if this is interrupted, the next start does it again. `run` runs a script in a
    database as the superuser while no server runs; `give` makes a file that of Postgres's account."""
    for database in ("template1", "postgres"):  # the first one for databases that are made later
        run(database, f"{statement('schema_vector_extension')};\n\n")  # only a superuser may create pgvector
    known = passwords_of(data).read_or_make()
    verifiers = {role: sql.Literal(make_verifier(known[role])) for role in ROLES}
    run("postgres", sql.SQL(read_filled(_SCRIPT)).format(**verifiers).as_string())
    _replace(data / "pg_hba.conf", _rules(data), give)


def _rules(data: Path) -> str:
    return _RULES.format(fingerprint=passwords_of(data).fingerprint(), roles=",".join(ROLES))


def _replace(path: Path, text: str, give: Callable[[Path], None]) -> None:
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600, exist_ok=False)
    new.write_text(text)
    give(new)
    sync(new)
    new.rename(path)
    sync(path.parent)

"""A data folder of release 22, whose Postgres trusts everybody, is changed in place."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from state.database.embedded import EmbeddedPostgres
from state.database.embedded.postmaster import Postmaster
from state.errors import NotReady
from tests.support.embedded import fetch_value, kill_postgres, postmasters_of
from tests.upgrade.release import PREVIOUS, ROOT, unpack

TRUSTING = "680b769"  # the last release of schema 22

# A task, and what an actor has written itself: then everybody worked as superuser. Goes on until its stdin ends.
MAKE = """
import sys, psycopg
from state.schema.migration import migrate
from state.database import get_database
migrate()
with psycopg.connect(get_database().url(), autocommit=True) as connection:
    connection.execute("INSERT INTO callboard.prompts VALUES ('', 'fox', 'a red fox', now(), now())")
    connection.execute("CREATE TABLE public.remembered (id serial PRIMARY KEY, words int)")
    connection.execute("CREATE SCHEMA mine CREATE TABLE kept (words int)")
print("made", flush=True)
sys.stdin.read()
"""
MIGRATE = "from state.schema.migration import migrate; migrate()"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not in pytest's own: Postgres does not run as root."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-") as made:
        yield Path(made)
        kill_postgres(Path(made) / "data")


def tree_of(commit: str, folder: Path) -> Path:
    (folder / commit).mkdir()
    return unpack(commit, folder / commit)


def run(tree: Path, data_dir: Path, text: str) -> "subprocess.Popen[str]":
    path = os.pathsep.join(map(str, (tree, tree / "http")))
    environment = {**os.environ, "PYTHONPATH": path, "CALLBOARD_DATA_DIR": str(data_dir)}
    environment.pop("CALLBOARD_DATABASE_URL", None)
    return subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=tree,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_folder_that_trusted_everybody_asks_for_passwords_and_has_lost_nothing(folder: Path) -> None:
    data_dir = folder / "data"
    data = data_dir / "postgres"
    old = run(tree_of(TRUSTING, folder), data_dir, MAKE)
    assert old.stdout is not None
    assert old.stdout.readline() == "made\n"
    assert "trust" in (data / "pg_hba.conf").read_text()

    own = EmbeddedPostgres(data_dir)
    with pytest.raises(NotReady, match="earlier release of Callboard, whose processes still use it"):
        own.url()  # it would lock them out
    before = Postmaster.read(data)
    assert before is not None
    assert fetch_value(before.url("postgres"), "SELECT text FROM callboard.prompts") == "a red fox"

    old.kill()  # its server goes on, without users
    old.communicate()
    assert postmasters_of(data_dir) == [before.pid]
    url = own.url()
    assert postmasters_of(data_dir) != [before.pid]
    assert "trust" not in (data / "pg_hba.conf").read_text()
    assert fetch_value(url, "SELECT text FROM callboard.prompts") == "a red fox"
    assert fetch_value(url, "SELECT current_setting('is_superuser')") == "off"
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
        psycopg.connect(url.replace("callboard_owner", "postgres"))

    for tree in (tree_of(PREVIOUS, folder), ROOT):  # a release migrates databases of the one before it
        migration = run(tree, data_dir, MIGRATE)
        migration.communicate(timeout=60)
        assert migration.returncode == 0
    worker = url.replace("callboard_owner", "callboard_worker")
    with psycopg.connect(worker, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS public.remembered (id int)")
        connection.execute("INSERT INTO public.remembered (words) VALUES (3)")
        connection.execute("ALTER TABLE mine.kept ADD COLUMN more text")
        assert connection.execute("SELECT count(*) FROM callboard.tasks").fetchone() == (0,)
    assert fetch_value(url, "SELECT words FROM public.remembered") == 3
    left = "SELECT count(*) FROM pg_tables WHERE tableowner = 'postgres' AND schemaname !~ '^pg_|^information_schema$'"
    assert fetch_value(url, left) == 0
    own.release()


def test_passwords_that_were_lost_are_made_again_and_lines_of_an_administrator_stay(folder: Path) -> None:
    data_dir = folder / "data"
    rules = data_dir / "postgres" / "pg_hba.conf"
    own = EmbeddedPostgres(data_dir)
    assert fetch_value(own.url(), "SELECT 1") == 1
    own.release()

    written = rules.read_text()
    with rules.open("a") as file:
        file.write("local all postgres peer\n")
    assert fetch_value(own.url(), "SELECT 1") == 1
    own.release()
    assert rules.read_text() == f"{written}local all postgres peer\n"

    (data_dir / "postgres.passwords").write_text("*:*:*:callboard_owner:half")  # a full disk
    assert fetch_value(own.url(), "SELECT 1") == 1
    assert rules.read_text().count("\n") == written.count("\n")
    assert rules.read_text() != written
    own.release()

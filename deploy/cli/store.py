"""Opens the state store for one command, and turns its errors into a message and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deploy.cli.destination import find_server
from deploy.cli.exits import BAD_INPUT, NO_DATABASE, Failure

if TYPE_CHECKING:
    from state.settings import Settings

_REMEDY = "Is it running? `make up` starts everything; CALLBOARD_DATABASE_URL says where the database is."


@contextmanager
def open_store(*, current_schema: bool = True) -> Iterator[None]:
    """The verbs of `state` work inside this context. Commands that migrate the schema set `current_schema` to False."""
    from state.database import close_database
    from state.database.errors import DatabaseUnavailable
    from state.database.notifier import flush_hints
    from state.errors import NotReady

    if current_schema and (server := find_server()) is not None:
        raise Failure(BAD_INPUT, f"This command needs the database itself, not the server {server.url}.")
    try:
        _open(current_schema)
        yield
    except NotReady as reason:
        raise Failure(NO_DATABASE, str(reason)) from reason
    except DatabaseUnavailable as lost:
        raise Failure(NO_DATABASE, f"The database cannot be reached: {_join_lines(lost)}. {_REMEDY}") from lost
    finally:
        flush_hints()  # before the pool closes: a later notification would open the database again
        close_database()


def load_actors() -> None:
    """Imports the modules of CALLBOARD_ACTORS. Commands that need payload models or queue names call it."""
    from state.errors import InvalidDeclaration
    from state.settings import SettingsError
    from state.tasks import catalog

    try:
        catalog.load_actors()
    except (InvalidDeclaration, SettingsError) as wrong:
        raise Failure(BAD_INPUT, str(wrong)) from wrong
    except ImportError as missing:
        raise Failure(BAD_INPUT, f"CALLBOARD_ACTORS names a module that cannot be imported: {missing}.") from missing


def read_settings() -> "Settings":
    from state.settings import SettingsError, get_settings

    try:
        return get_settings()
    except SettingsError as wrong:
        raise Failure(BAD_INPUT, str(wrong)) from None


def _open(current_schema: bool) -> None:
    from state.database import connect
    from state.database.errors import InvalidAddress
    from state.schema.version import require_current_schema

    settings = read_settings()
    silence_logs()
    folder = settings.data_dir / "postgres"
    if current_schema and settings.database_url is None and not (folder / "PG_VERSION").exists():
        raise Failure(
            NO_DATABASE,
            f"There is no database in {folder} yet. Run `callboard migrate` or `make up`, "
            "or set CALLBOARD_DATABASE_URL.",
        )
    try:
        connect("command", direct=not current_schema).close()
    except InvalidAddress as wrong:
        raise Failure(BAD_INPUT, f"CALLBOARD_DATABASE_URL is not a Postgres address: {_join_lines(wrong)}") from wrong
    if current_schema:
        require_current_schema()


def silence_logs() -> None:
    """Commands print their results; their log is shown only at level debug."""
    from state import logs

    logs.configure_logs("debug" if read_settings().log_level == "debug" else "critical")


def _join_lines(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")

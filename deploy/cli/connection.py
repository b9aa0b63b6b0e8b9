"""Opens a client for one command, and turns its errors into a message and an exit code."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from deploy.cli.destination import Server, find_server
from deploy.cli.exits import (
    BAD_INPUT,
    COMMAND_FAILED,
    NO_ACCESS,
    NO_DATABASE,
    NO_SERVER,
    NOT_FOUND,
    NOT_POSSIBLE,
    Failure,
)

if TYPE_CHECKING:
    from taskclient import Client, Problem

API = "/api/v1"
_PATIENCE = 5.0
LONG_PATIENCE = 120.0  # for commands that follow something: they survive a restart of the server


@contextmanager
def open_client(*, actors: bool = False, patience: float = _PATIENCE) -> Iterator["Client"]:
    """`actors`: the command needs payload models or queue names. A server has them; here they are imported."""
    from taskclient import AnswerLost, CallboardError, Client, Problem, ServerUnreachable

    server = find_server()
    try:
        with ExitStack() as stack:
            if server is not None:
                client = Client(server.url, server.key, patience=patience)
            else:
                socket = stack.enter_context(_serve_locally(actors=actors))
                client = Client(socket=socket, patience=patience, timeout=90)
            yield stack.enter_context(client)
    except Problem as problem:
        raise _to_failure(problem, server) from problem
    except AnswerLost as lost:
        raise Failure(COMMAND_FAILED, str(lost)) from lost
    except ServerUnreachable as lost:
        where = "The server" if server is None else server.url
        raise Failure(NO_SERVER, f"{where} cannot be reached: {lost}") from lost
    except CallboardError as wrong:
        raise Failure(BAD_INPUT, str(wrong)) from wrong


@contextmanager
def _serve_locally(*, actors: bool) -> Iterator[str]:
    from deploy.cli.store import load_actors, open_store, silence_logs

    with open_store():
        if actors:
            load_actors()
        from deploy.cli.local import serve_locally

        with serve_locally(actors=actors) as path:
            silence_logs()
            yield path


def _to_failure(problem: "Problem", server: Server | None) -> Failure:
    message = problem.detail
    known = problem.document.get("known")
    if known and not any(name in message for name in known):
        message = f"{message} Known: {', '.join(known)}."
    if problem.status >= 500 and problem.request_id:
        message = f"{message} (request {problem.request_id})"
    return Failure(_choose_exit_code(problem), message if server is None else _add_remedy(problem, message))


def _choose_exit_code(problem: "Problem") -> int:
    match problem.status:
        case 401 | 403 | 421:
            return NO_ACCESS
        case 404:
            return NOT_FOUND
        case 409:
            return NOT_POSSIBLE
        case 400 | 405 | 413 | 415 | 416 | 422:
            return BAD_INPUT
        case 503 if problem.token == "not-ready":  # noqa: S105
            return NO_DATABASE
        case _:
            return COMMAND_FAILED


def _add_remedy(problem: "Problem", message: str) -> str:
    return f"{message} Set CALLBOARD_KEY, or use a profile." if problem.status == 401 else message

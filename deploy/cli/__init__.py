"""The `callboard` command. Each command imports what it needs when it runs, so that `--help` is there at once."""

import logging
import os
import sys
from collections.abc import Callable
from typing import NoReturn

import typer

from deploy.cli import cancel, control, deadletters, gates, listing, migrate, queues, show, submit, up, watch, workers
from deploy.cli.exits import BAD_INPUT, COMMAND_FAILED, EXIT_CODES, Failure

app = typer.Typer(
    name="callboard",
    help="Runs long work on Dramatiq workers, keeps it in Postgres, and shows what is going on.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "up": up.up,
    "migrate": migrate.migrate,
    "submit": submit.submit,
    "list": listing.list_tasks,
    "show": show.show,
    "watch": watch.watch,
    "cancel": cancel.cancel,
    "pause": control.pause,
    "resume": control.resume,
    "retry": control.retry,
    "dlq": deadletters.dlq,
    "redrive": deadletters.redrive,
    "dismiss": deadletters.dismiss,
    "workers": workers.workers,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, epilog=EXIT_CODES)(_command)
app.add_typer(gates.group, name="gates")
app.add_typer(queues.group, name="queues")


def main() -> NoReturn:
    debug = os.environ.get("CALLBOARD_LOG_LEVEL") == "debug"
    if not debug:
        logging.disable(logging.CRITICAL)  # what a person must know comes as one line
    try:
        sys.exit(app(prog_name="callboard", standalone_mode=False))
    except Failure as failure:
        _end(failure, failure.exit_code, debug=debug)
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        hint = f" (See `{context.command_path} --help`.)" if context is not None else ""
        _end(f"{wrong.format_message()}{hint}", BAD_INPUT, debug=debug)
    except typer.Abort:
        _end("Aborted.", COMMAND_FAILED, debug=debug)
    except Exception as unexpected:
        hint = "" if debug else " (CALLBOARD_LOG_LEVEL=debug shows where.)"
        _end(f"{type(unexpected).__name__}: {' '.join(str(unexpected).split())}{hint}", COMMAND_FAILED, debug=debug)


def _end(reason: object, exit_code: int, *, debug: bool) -> NoReturn:
    if debug:
        import traceback

        traceback.print_exc()
    typer.secho(f"callboard: {reason}", fg="red", err=True)
    sys.exit(exit_code)

"""The `callboard` command. Each command imports its modules when it runs, so that `--help` stays fast."""

import logging
import os
import sys
from typing import NoReturn

import typer

from deploy.cli.commands import COMMANDS, GROUPS
from deploy.cli.destination import choose
from deploy.cli.exits import BAD_INPUT, COMMAND_FAILED, EXIT_CODES_HELP, Failure

app = typer.Typer(
    name="callboard",
    help="Runs long tasks on Dramatiq workers, keeps their state in Postgres, and shows their progress.",
    epilog=EXIT_CODES_HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.callback()(choose)
for _name, _command in COMMANDS.items():
    app.command(_name, epilog=EXIT_CODES_HELP)(_command)
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def main() -> NoReturn:
    debug = os.environ.get("CALLBOARD_LOG_LEVEL") == "debug"
    if not debug:
        logging.disable(logging.CRITICAL)  # errors are printed as one line instead
    try:
        sys.exit(app(prog_name="callboard", standalone_mode=False))
    except Failure as failure:
        _exit(failure, failure.exit_code, debug=debug)
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        hint = f" (See `{context.command_path} --help`.)" if context is not None else ""
        _exit(f"{wrong.format_message()}{hint}", BAD_INPUT, debug=debug)
    except typer.Abort:
        _exit("Aborted.", COMMAND_FAILED, debug=debug)
    except Exception as unexpected:
        if isinstance(unexpected, UnicodeEncodeError) and unexpected.encoding == "utf-8":
            _exit("An argument is not UTF-8 text.", BAD_INPUT, debug=debug)
        hint = "" if debug else " (Set CALLBOARD_LOG_LEVEL=debug for a traceback.)"
        _exit(f"{type(unexpected).__name__}: {' '.join(str(unexpected).split())}{hint}", COMMAND_FAILED, debug=debug)


def _exit(reason: object, exit_code: int, *, debug: bool) -> NoReturn:
    if debug:
        import traceback

        traceback.print_exc()
    typer.secho(f"callboard: {reason}", fg="red", err=True)
    sys.exit(exit_code)

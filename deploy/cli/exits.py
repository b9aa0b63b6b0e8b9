"""What the exit codes mean, and the error that carries one."""

COMMAND_FAILED = 1
BAD_INPUT = 2
NOT_FOUND = 3
NOT_POSSIBLE = 4
NO_DATABASE = 5
CANCELED = 6
INTERRUPTED = 130

EXIT_CODES = """\b
Exit codes:
  0    done; with watch: the task completed
  1    the command failed; with watch: the task ended dead
  2    bad usage or bad input
  3    there is no such task or actor
  4    not possible in the task's status
  5    the database cannot be reached, or is not migrated
  6    with watch: the task was canceled
  130  interrupted with Ctrl-C"""

# How a task ended, as an exit code.
ENDS = {"completed": 0, "dead": COMMAND_FAILED, "canceled": CANCELED}


class Failure(Exception):
    """Ends the command with one line for the person who typed it."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code

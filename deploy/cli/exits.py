"""The exit codes, and the error that carries one."""

COMMAND_FAILED = 1
BAD_INPUT = 2
NOT_FOUND = 3
NOT_POSSIBLE = 4
NO_DATABASE = 5
CANCELED = 6
NO_ACCESS = 7
NO_SERVER = 8
INTERRUPTED = 130

EXIT_CODES_HELP = """\b
Exit codes:
  0    success; with watch: it completed
  1    the command failed; with watch: it died, failed or was escalated
  2    bad usage or bad input
  3    there is no such task, actor, gate, queue, workflow, project or schedule
  4    not possible in its status, such as that of a task that has ended
  5    the database cannot be reached, or is not migrated
  6    with watch: it was canceled
  7    the server wants a key, or the key does not allow this
  8    the server cannot be reached
  130  interrupted with Ctrl-C"""

EXIT_CODE_BY_STATUS = {"completed": 0, "dead": COMMAND_FAILED, "canceled": CANCELED}
"""The exit code of `watch` for each finished status."""


class Failure(Exception):
    """Ends the command with a one-line message and an exit code."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code

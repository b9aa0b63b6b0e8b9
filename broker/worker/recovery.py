"""`python -m broker.closing <worker id>`: what a worker process becomes at its end when code in it does not stop. By
now that code is gone, so its tasks can be released. Not to be started by hand."""

import sys

from state.database.notifier import flush_notifications
from state.database.pool import close_database
from state.logs import configure_logs
from state.workers import registry


def main() -> None:
    configure_logs()
    registry.recover([sys.argv[1]])
    flush_notifications()
    close_database()


if __name__ == "__main__":
    main()

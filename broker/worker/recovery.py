"""`python -m broker.worker.recovery <worker id>` recovers the tasks of a worker process. A worker process in which
code does not stop executes this program in its own place: then the code is certainly gone. Not to be started by
hand."""

import sys

from state.database import close_database
from state.database.notifier import flush_hints
from state.logs import configure_logs
from state.maintenance import losses


def main() -> None:
    configure_logs()
    losses.recover([sys.argv[1]])
    flush_hints()
    close_database()


if __name__ == "__main__":
    main()

"""`python -m broker.closing <worker id>`: what a worker process becomes at its end when code in it does not stop. By
now that code is gone, so its tasks can be released. Not to be started by hand."""

import sys

from state import workers
from state.bell import flush_bell
from state.database import close_database
from state.logs import configure_logs


def main() -> None:
    configure_logs()
    workers.recover([sys.argv[1]])
    flush_bell()
    close_database()


if __name__ == "__main__":
    main()

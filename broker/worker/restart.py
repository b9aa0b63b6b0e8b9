"""`python -m broker.worker.restart <log pipe> <arguments of dramatiq>` runs a new worker process. A worker process
that is replaced executes this program in its own place. Not to be started by hand."""

import signal
import sys
import threading
from multiprocessing import Value
from multiprocessing.connection import Connection

from dramatiq.canteen import Canteen
from dramatiq.cli import HANDLED_SIGNALS, make_argument_parser, worker_process
from dramatiq.compat import StreamablePipe


def main() -> None:
    pipe = StreamablePipe(Connection(int(sys.argv[1]), readable=False))
    sys.argv = ["dramatiq", *sys.argv[2:]]
    arguments = make_argument_parser().parse_args()
    for path in arguments.path:
        sys.path.insert(0, path)
    if signal.sigpending() & set(HANDLED_SIGNALS):
        return  # a signal to end arrived during the replacement; Dramatiq would not handle it this early
    worker_process(arguments, "replacement", pipe, Value(Canteen), threading.Event())


if __name__ == "__main__":
    main()

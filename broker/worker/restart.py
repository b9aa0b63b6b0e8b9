"""`python -m broker.reborn <log pipe> <arguments of dramatiq>`: what a worker process becomes when it is replaced. Not
to be started by hand."""

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
        return  # told to end before it has begun, which Dramatiq would not survive with grace
    worker_process(arguments, "reborn", pipe, Value(Canteen), threading.Event())


if __name__ == "__main__":
    main()

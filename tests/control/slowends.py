"""For workers of tests: a process that is replaced takes its time between its last words and its end."""

import time

from broker.worker import replacement

_kill_children = replacement._kill_children


def slowly() -> None:
    time.sleep(2)
    _kill_children()


replacement._kill_children = slowly

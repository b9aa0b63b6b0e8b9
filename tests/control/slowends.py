"""For workers of tests: two seconds between the last write of a process that is replaced and its end."""

import time

from broker.worker import replacement

_kill_children = replacement._kill_children


def kill_slowly() -> None:
    time.sleep(2)
    _kill_children()


replacement._kill_children = kill_slowly

"""Signals that arrive before and during the replacement of a process."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD = """
import os, signal, sys, threading
from broker.worker import replacement

signal.signal(signal.SIGTERM, lambda *_: print("heard", flush=True))
replacement.prepare_replacement()
replacement._command = lambda: [sys.executable, "-c", "print('replaced')"]
moment = sys.argv[1]
if moment == "before":
    os.kill(os.getpid(), signal.SIGTERM)
elif moment == "at the last moment":
    replacement.try_block_signals = lambda: os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=replacement.replace_process).start()
threading.Event().wait(20)
"""


@pytest.mark.parametrize(
    ("moment", "ending"),
    [("never", (0, "replaced\n")), ("before", (0, "heard\n")), ("at the last moment", (-signal.SIGTERM, ""))],
)
def test_a_process_with_a_pending_signal_to_end_is_not_replaced(moment: str, ending: tuple[int, str]) -> None:
    done = subprocess.run([sys.executable, "-c", OLD, moment], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == ending, done.stderr

"""Imported by the worker processes of a proof, last among their actors: puts the journal around the code of each."""

import os
from contextlib import AbstractContextManager

from broker.observing import watch_executions
from deploy.prove.journal import VARIABLE, Record, recording
from state.gates.declarations import TARGET_PREFIX
from state.workers.leases import Claimed


def record(claimed: Claimed) -> AbstractContextManager[Record]:
    target = next((key for key in claimed.gates if key.startswith(TARGET_PREFIX)), None)
    return recording(Record(os.environ[VARIABLE], claimed.id, claimed.epoch, claimed.gates, target))


watch_executions(record)

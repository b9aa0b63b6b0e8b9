"""Follows a task from another host: `python -m tests.machines.follow URL KEY TASK`. Prints a line of JSON for each
event."""

import json
import sys

from taskclient import Client

if __name__ == "__main__":
    url, key, task = sys.argv[1:]
    with Client(url, key, patience=120) as client:
        for event in client.stream(task, after=0):
            print(json.dumps({"n": event.n, "kind": event.kind}), flush=True)

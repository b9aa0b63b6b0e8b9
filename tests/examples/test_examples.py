"""The examples run as their docstrings say, with real workers."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.workers import ROOT, WorkerTree

EXAMPLES = ROOT / "examples"


def run(example: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"examples.{example}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_first_actor(worker: Callable[..., WorkerTree]) -> None:
    worker(actors="actors,examples.hello.actors")
    assert run("hello", "Ada").splitlines()[-1] == "Hello, Ada!"


def test_a_film_goes_on_where_it_was_paused(worker: Callable[..., WorkerTree]) -> None:
    worker(processes=2, actors="actors,examples.rendering.actors")
    waits, paused, nosferatu, metropolis = run("rendering").splitlines()
    assert waits == "Nosferatu waits at the gate of the farm"
    assert paused == "Metropolis is paused"
    assert "'started_at_frame': 0" in nosferatu
    resumed = re.search(r"'started_at_frame': (\d+)", metropolis)
    assert resumed is not None
    assert 0 < int(resumed[1]) < 10


def test_an_order_and_its_task_commit_together(worker: Callable[..., WorkerTree]) -> None:
    worker(actors="actors,examples.orders.actors")
    rolled_back, result, orders, tasks = run("orders").splitlines()
    assert rolled_back == "Rolled back: this order cannot be delivered"
    assert re.fullmatch(r"\{'invoice': 'Invoice for tea \d+'\}", result)
    assert re.fullmatch(r"\[\('tea \d+', True\)\]", orders)
    assert tasks == "Tasks: 1"


@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/__main__.py")))
def test_each_example_is_small_and_says_how_to_run_it(example: str) -> None:
    assert sum(len(path.read_text().splitlines()) for path in (EXAMPLES / example).glob("*.py")) <= 90
    text = (EXAMPLES / example / "__init__.py").read_text()
    assert f"CALLBOARD_ACTORS=actors,examples.{example}.actors make up" in text
    assert f".venv/bin/python -m examples.{example}" in text


def test_all_examples_are_run() -> None:
    assert {path.parent.name for path in Path(EXAMPLES).glob("*/__main__.py")} == {"hello", "rendering", "orders"}

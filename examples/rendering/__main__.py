"""Submits two films, and pauses the first one in the middle: the second one takes its place at the farm."""

import time
from collections.abc import Callable

import actors  # noqa: F401  (sets the broker; must come before the actors of this package)
import state
from examples.rendering.actors import Film, render


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.1)


def main() -> None:
    first = render.send(Film(title="Metropolis")).message_id
    wait_for(lambda: (state.get_task(first).progress or {}).get("percent") not in (None, 0))
    second = render.send(Film(title="Nosferatu")).message_id
    wait_for(lambda: state.get_task(second).status == "waiting")
    print("Nosferatu waits at the gate of the farm")

    state.pause(first)
    wait_for(lambda: state.get_task(first).status == "paused")
    print("Metropolis is paused")
    wait_for(lambda: state.get_task(second).finished)
    print("Nosferatu is done:", state.get_task(second).result)

    state.resume(first)
    wait_for(lambda: state.get_task(first).finished)
    print("Metropolis is done:", state.get_task(first).result)


if __name__ == "__main__":
    main()

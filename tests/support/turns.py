"""Turns of the maintainer, one by one."""

from state.maintenance.housekeeping import Housekeeping
from state.maintenance.maintainer import Due, become_maintainer
from tests.support.eventually import eventually


def learn_due(worker: str = "test") -> Due:
    """Returns what the maintainer learns at the beginning of a turn."""
    found: list[Due | None] = []

    def learn() -> bool:
        found.append(become_maintainer(worker))  # None while another session has locked the row
        return found[-1] is not None

    eventually(learn, what="this is the maintainer")
    assert found[-1] is not None
    return found[-1]


def do_turn(housekeeping: Housekeeping | None = None) -> bool:
    """Does one turn, of a new maintainer unless one is given. Returns whether there is more to do right away."""
    return (housekeeping or Housekeeping()).do_turn(learn_due())

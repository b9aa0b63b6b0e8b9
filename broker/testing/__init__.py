"""Help for people who test their actors.

`run_actor` runs an actor with a real context, without a worker and without a database:

    from broker.testing import run_actor

    def test_counts_the_words():
        run = run_actor(count_words, {"text": "one two"}, checkpoint={"done": 1})
        assert run.result == {"words": 2}
        assert run.progress["percent"] == 100

The fixture `callboard_database` gives a test an empty, migrated database of its own, on an embedded Postgres. The
settings of the test's process, and of the processes that it starts, point to it. So `ctx.transaction()`, `submit` and
worker processes can be tested, too. Register it in `conftest.py`:

    pytest_plugins = ["broker.testing"]
"""

from broker.testing.actor_run import ActorRun, EmittedEvent, run_actor
from broker.testing.database import callboard_database, callboard_server

__all__ = ["ActorRun", "EmittedEvent", "callboard_database", "callboard_server", "run_actor"]

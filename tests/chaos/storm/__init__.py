"""The storm: a minute of work under every fault that we know to make, judged from journals (see judge.py).

All that happens is planned from a seed (schedule.py), which is printed at the start and at a failure. To replay one:

    python -m tests.chaos.storm --seed 7                        (with --seconds 300 for a longer one)
    CALLBOARD_STORM_SEED=7 pytest tests/chaos/test_storm.py

The plan is the same each time: the tasks, the faults, whom they hit and when. How the processes answer is up to the
machine, so a failure that depends on a race may need several runs. `--keep FOLDER` leaves the journals and the
logs of the workers there."""

"""The storm: work under every fault that we know to make, judged from journals (deploy/prove/judge.py). It is the run
of `callboard prove` (deploy/prove) with more faults, on a Postgres of its own. docs/proof.md says what there is.

All that happens is planned from a seed (schedule.py), which is printed at the start and at a failure. To replay one:

    make chaos ARGS="--seed 7 --seconds 40"
    CALLBOARD_STORM_SEED=7 pytest tests/chaos/test_storm.py

The plan is the same each time: the tasks, the faults, whom they hit and when. How the processes answer is up to the
machine, so a failure that depends on a race may need several runs. `--keep FOLDER` leaves the journals and the
logs of the programs there."""

"""The apps of the contenders, each in its own idiom. Those of the peers are run in `.bench-venv` only."""

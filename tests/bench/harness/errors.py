"""What can go wrong with one measurement of one contender; the others go on."""


class BenchError(Exception):
    """The measurement failed."""


class StalledError(BenchError):
    """The contender stopped before its work was done."""


class Unavailable(BenchError):
    """The contender cannot run on this machine."""

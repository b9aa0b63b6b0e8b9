"""Examines an installation. Each check yields findings, and none stops the others."""

from collections.abc import Callable, Iterator

from deploy.cli.doctor.findings import Finding, problem


def examine() -> Iterator[Finding]:
    from deploy.cli.doctor import database, machine, operation

    yield from machine.check_python()
    yield from machine.check_packages()
    wrong = list(machine.check_settings())
    yield from wrong
    if any(finding.level == "problem" for finding in wrong):
        return  # nothing else can be read without them
    for check in (machine.check_user, machine.check_data_folder, machine.check_sandbox, machine.check_profiles):
        yield from _protect(check)
    reached = list(_protect(database.check_database))
    yield from reached
    if any(finding.level == "problem" for finding in reached):
        yield from _protect(machine.check_port)
        return
    for check in (database.check_vectors, operation.check_keys, operation.check_workers, operation.check_work,
                  machine.check_port):  # fmt: skip
        yield from _protect(check)


def _protect(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A check that fails is a finding."""
    name = check.__name__.removeprefix("check_").replace("_", " ")
    try:
        yield from check()
    except Exception as failure:
        reason = " ".join(str(failure).split())
        yield problem(name, f"cannot be examined: {type(failure).__name__}: {reason}", "see the message")

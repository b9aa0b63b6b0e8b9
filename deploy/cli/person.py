"""Who has started the command."""

from getpass import getuser

from state.access.caller import Caller


def find_person() -> Caller:
    """Returns an operator with the name of the user, which the history shows of a pause or a cancel. Whoever has the
    database may do everything."""
    try:
        return Caller("operator", name=getuser())
    except (KeyError, OSError):  # a user without a name, as in some containers
        return Caller("operator")

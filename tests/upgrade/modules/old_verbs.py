"""Calls every verb of the previous release, for as long as it is told to, on the same connections: what was prepared
before a migration has to work after it. Run by the code of that release; argument: its tree.

Each line on stdin asks for a round. The answer is one line of JSON: the statements used so far, or what went wrong."""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from old_desk import QUEUE, Payload, check, gates_of
from old_round import Round

from state.database import connect
from state.database.statements import statement
from state.logs import configure_logs
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec

used: set[str] = set()


def noting_statement(name: str) -> Any:
    used.add(name)
    return statement(name)


def main() -> None:
    tree = Path(sys.argv[1])
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "state"]:
        check(Path(str(module.__file__)).is_relative_to(tree), f"{module.__file__} is not of {tree}")
        if hasattr(module, "statement"):
            module.statement = noting_statement
    configure_logs("critical")  # the answers have stdout for themselves
    catalog.load_actors()
    catalog.register(ActorSpec("quick", QUEUE, Payload, 3, lambda: None, 60, STANDARD_POLICY, "", gates=gates_of))
    with connect("desk") as desk:
        for number, _ in enumerate(sys.stdin):
            try:
                Round(number, desk).run()
                answer: dict[str, Any] = {"used": sorted(used)}
            except Exception:
                answer = {"error": traceback.format_exc()}
            print(json.dumps(answer), flush=True)


main()

"""Checks a workflow before it is stored, and completes its steps from the declarations of their agents. Everything that
is refused names the step."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from state import jsonsafe
from state.access.caller import Caller
from state.access.permissions import require_may_prioritize
from state.agents.catalog import admit, ask_gates, check_input
from state.database import Row
from state.errors import InvalidPayload, InvalidWorkflow, UnknownAgent
from state.tasks import catalog
from state.tasks.priorities import parse_priority
from state.workflows.definition import MOST_BRANCHES, Step, Workflow
from state.workflows.references import InvalidReference, Reference, find_references

_ACTOR = "agent"
_MOST_REFERENCES = 100  # of one step
_MOST_EDGES = 20_000  # of one workflow
_MOST_BYTES = 16 * 1024 * 1024  # of all steps


def build_steps(workflow: Workflow, caller: Caller) -> list[Row]:
    """Returns the rows of the steps. Raises InvalidWorkflow; Forbidden if the caller may not give one of their agents
    work."""
    if workflow.tenant is not None and not workflow.tenant.isprintable():
        raise InvalidWorkflow("tenant: must be printable", "tenant", None)
    ancestors = _find_ancestors(workflow.steps)
    steps = enumerate(workflow.steps)
    rows = [build_step(step, f"steps.{place}", ancestors[step.key], caller) for place, step in steps]
    if len(jsonsafe.dump(rows)) > _MOST_BYTES:
        raise InvalidWorkflow(f"steps: are larger than {_MOST_BYTES} bytes in all", "steps", None)
    return rows


def build_step(step: Step, at: str, ancestors: set[str], caller: Caller) -> Row:
    """`at`: where the step is, for errors. `ancestors`: the steps whose results it may use."""
    if step.kind == "approval":
        return _build_approval(step, at)
    return _build_task(step, at, ancestors, caller)


def _find_ancestors(steps: Sequence[Step]) -> Mapping[str, set[str]]:
    """Returns for each step those that are certainly completed when it starts."""
    after: dict[str, list[str]] = {}
    for place, step in enumerate(steps):
        if step.key in after:
            raise _refuse(step, f"steps.{place}.key", "another step has this key")
        after[step.key] = step.after
    for place, step in enumerate(steps):
        for key in step.after:
            if key not in after:
                raise _refuse(step, f"steps.{place}.after", f"there is no step {key!r}")
    if sum(map(len, after.values())) > _MOST_EDGES:
        raise InvalidWorkflow(f"steps: more than {_MOST_EDGES} dependencies in all", "steps", None)
    try:
        order = list(TopologicalSorter(after).static_order())
    except CycleError as cycle:
        around: list[str] = cycle.args[1]
        place = next(place for place, step in enumerate(steps) if step.key == around[0])
        message = f"the steps wait for each other: {' -> '.join(reversed(around))}"
        raise _refuse(steps[place], f"steps.{place}.after", message) from None
    ancestors: dict[str, set[str]] = {}
    for key in order:
        ancestors[key] = {*after[key]}.union(*(ancestors[each] for each in after[key]))
    return ancestors


def _build_approval(step: Step, at: str) -> Row:
    for field in ("agent_name", "task_type", "for_each", "priority", "max_attempts"):
        if getattr(step, field) is not None:
            raise _refuse(step, f"{at}.{field}", "an approval has none")
    if step.input:
        raise _refuse(step, f"{at}.input", "an approval has none")
    return {**_build_common(step), "expires_seconds": step.expires_seconds}


def _build_task(step: Step, at: str, ancestors: set[str], caller: Caller) -> Row:
    for field in ("agent_name", "task_type"):
        if not getattr(step, field):
            raise _refuse(step, f"{at}.{field}", "a task needs it")
    if step.expires_seconds is not None:
        raise _refuse(step, f"{at}.expires_seconds", "only an approval has it")
    agent_name, task_type = str(step.agent_name), str(step.task_type)
    inside = _find_inside(step, step.input, f"{at}.input", ancestors, may_use_item=step.for_each is not None)
    lists = _find_inside(step, step.for_each, f"{at}.for_each", ancestors, may_use_item=False)
    if isinstance(step.for_each, list) and len(step.for_each) > MOST_BRANCHES:
        raise _refuse(step, f"{at}.for_each", f"has more than {MOST_BRANCHES} elements")
    if isinstance(step.for_each, dict) and not (lists and lists[0].at == []):
        raise _refuse(step, f"{at}.for_each", "must be a list or a $result")
    try:
        spec = admit(agent_name, task_type, caller)
        if not inside:
            check_input(agent_name, task_type, step.input, at=f"{at}.input")
    except UnknownAgent as unknown:
        raise InvalidWorkflow(f"step {step.key}: {unknown}", f"{at}.{unknown.field}", step.key) from None
    except InvalidPayload as refused:
        raise InvalidWorkflow(f"step {step.key}: {refused}", refused.field, step.key) from None
    require_may_prioritize(caller, None if step.priority is None else parse_priority(step.priority))
    # Gates that depend on results are asked for by the worker, before the code starts.
    gates = [] if inside else ask_gates(agent_name, task_type, step.input)
    actor = catalog.get(_ACTOR)
    return {
        **_build_common(step),
        "agent_name": agent_name,
        "task_type": task_type,
        "input": step.input,
        "for_each": step.for_each,
        "sources": {
            "input": [each.to_source() for each in inside if each.step is not None],
            "items": [each.to_source() for each in inside if each.step is None],
            "for_each": [each.to_source() for each in lists],
        },
        "priority": spec.priority if step.priority is None else step.priority,
        "max_attempts": step.max_attempts or actor.max_attempts,
        "queue": actor.queue,
        "gates": [gate.key for gate in gates],
        "gate_limits": [gate.limit for gate in gates],
    }


def _build_common(step: Step) -> Row:
    after = list(dict.fromkeys(step.after))
    return {"key": step.key, "kind": step.kind, "after": after, "sources": {}, "gates": [], "gate_limits": []}


def _find_inside(step: Step, value: Any, at: str, ancestors: set[str], *, may_use_item: bool) -> list[Reference]:
    """Returns the references in a value, all of which are possible."""
    try:
        jsonsafe.check(value)
        found = find_references(value)
    except jsonsafe.UnsafeJson as unsafe:
        raise _refuse(step, f"{at}.{unsafe.path}" if unsafe.path else at, str(unsafe)) from None
    except InvalidReference as wrong:
        raise _refuse(step, ".".join([at, *wrong.at]), str(wrong)) from None
    if len(found) > _MOST_REFERENCES:
        raise _refuse(step, at, f"takes more than {_MOST_REFERENCES} results")
    for each in found:
        where = ".".join([at, *each.at])
        if each.step is None and not may_use_item:
            raise _refuse(step, where, "$item is for the input of a step with for_each")
        if each.step is not None and each.step not in ancestors:
            raise _refuse(step, where, f"step {each.step!r} does not come before it; see `after`")
    return found


def _refuse(step: Step, field: str, message: str) -> InvalidWorkflow:
    return InvalidWorkflow(f"step {step.key}: {field}: {message}", field, step.key)

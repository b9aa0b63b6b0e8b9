"""The tasks of a proof: one for each actor of the user that can be tried."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deploy.cli.exits import BAD_INPUT, Failure
from state.errors import InvalidPayload, UnknownActor
from state.settings import get_settings
from state.tasks import catalog
from state.tasks.catalog import ActorSpec

_BUILT_IN: dict[str, dict[str, Any]] = {
    "media_generation": {"prompt": "a red fox in the snow", "params": {"width": 64, "height": 64, "steps": 8}},
    "summarize": {"provider": "local", "content": "A task was accepted. Its worker died. It was done all the same."},
}
"""What is tried if CALLBOARD_ACTORS names no others: both reach nobody outside."""


@dataclass(frozen=True, slots=True)
class Sample:
    actor: str
    payload: dict[str, Any]
    gates: tuple[str, ...]
    over_http: bool  # whether a caller without a key may submit it


def choose_samples(asked: Sequence[str]) -> tuple[list[Sample], list[str]]:
    """`asked`: texts such as `render={"scene": 7}`. Returns the samples, and the actors that were left out because
    nobody has said what to give them."""
    if asked:
        return [_read(text) for text in asked], []
    modules = [name for name in get_settings().actors if name != "actors"]
    if not modules:
        return [_make(name, payload) for name, payload in _BUILT_IN.items()], []
    samples, left_out = [], []
    for spec in catalog.list_actors():
        if spec.created_by is None and _is_of(spec, modules):
            try:
                samples.append(_make(spec.name, {}))
            except Failure:
                left_out.append(spec.name)
    if not samples:
        names = ", ".join(left_out) or "none that somebody can submit"
        raise Failure(
            BAD_INPUT,
            f"No actor of CALLBOARD_ACTORS ({names}) can do with an empty payload. "
            'Say what to submit: --task \'NAME={"field": "value"}\'.',
        )
    return samples, left_out


def _is_of(spec: ActorSpec, modules: Sequence[str]) -> bool:
    defined = spec.request.__module__
    return any(defined == module or defined.startswith(f"{module}.") for module in modules)


def _read(text: str) -> Sample:
    name, equals, payload = text.partition("=")
    if not equals:
        return _make(name, {})
    try:
        return _make(name, json.loads(payload))
    except json.JSONDecodeError as wrong:
        raise Failure(BAD_INPUT, f"--task {name}: the payload is not JSON: {wrong}.") from None


def _make(name: str, payload: dict[str, Any]) -> Sample:
    try:
        spec = catalog.get(name)
        request, stored = spec.validate(payload)
    except (UnknownActor, InvalidPayload) as wrong:
        raise Failure(BAD_INPUT, f"--task {name}: {wrong}") from None
    gates = tuple(gate.key for gate in spec.ask_gates(request))
    return Sample(name, stored, gates, over_http=spec.role == "submitter" and name != "agent")

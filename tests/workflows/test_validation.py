"""What is refused when a workflow is created, with the step named."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from state.errors import InvalidWorkflow
from state.workflows import StoredWorkflow, list_workflows
from state.workflows.definition import Step, Workflow
from state.workflows.references import InvalidReference, Reference, find_references

Create = Callable[..., StoredWorkflow]

REFUSED: dict[str, tuple[list[dict[str, Any]], str | None, str, str]] = {  # steps, step, field, words of the message
    "two steps with one key": ([{"key": "a"}, {"key": "a"}], "a", "steps.1.key", "another step"),
    "unknown predecessor": ([{"key": "a", "after": ["x"]}], "a", "steps.0.after", "no step 'x'"),
    "a step after itself": ([{"key": "a", "after": ["a"]}], "a", "steps.0.after", "a -> a"),
    "cycle": (
        [{"key": "z"}, {"key": "a", "after": ["c"]}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["b"]}],
        None, "after", "wait for each other",
    ),
    "unknown agent": ([{"key": "a", "agent_name": "nobody"}], "a", "steps.0.agent_name", "Known agents: free, strict"),
    "unknown task type": ([{"key": "a", "task_type": "fly"}], "a", "steps.0.task_type", "It has: run"),
    "task without an agent": ([{"key": "a", "agent_name": None}], "a", "steps.0.agent_name", "needs it"),
    "input that does not fit": (
        [{"key": "a", "agent_name": "strict", "input": {"text": 5}}], "a", "steps.0.input.text", "string"
    ),
    "result of an unknown step": (
        [{"key": "a", "input": {"x": {"$result": "b"}}}], "a", "steps.0.input.x", "does not come before"
    ),
    "result of a step beside it": (
        [{"key": "a"}, {"key": "b", "input": {"x": [1, {"$result": "a"}]}}], "b", "steps.1.input.x.1", "before"
    ),
    "result of a later step": (
        [{"key": "a", "input": {"x": {"$result": "b"}}}, {"key": "b", "after": ["a"]}], "a", "steps.0.input.x", "before"
    ),
    "its own result": ([{"key": "a", "input": {"$result": "a"}}], "a", "steps.0.input", "before"),
    "list from a step that is not before": (
        [{"key": "a"}, {"key": "b", "for_each": {"$result": "a"}}], "b", "steps.1.for_each", "before"
    ),
    "list that is none": ([{"key": "a", "for_each": {"x": 1}}], "a", "steps.0.for_each", "must be a list"),
    "list that is too long": ([{"key": "a", "for_each": [1] * 1001}], "a", "steps.0.for_each", "1000"),
    "item without a list": ([{"key": "a", "input": {"x": {"$item": True}}}], "a", "steps.0.input.x", "for_each"),
    "reference with more": (
        [{"key": "a"}, {"key": "b", "after": ["a"], "input": {"x": {"$result": "a", "y": 1}}}],
        "b", "steps.1.input.x", "path",
    ),
    "path with a hole": (
        [{"key": "a"}, {"key": "b", "after": ["a"], "input": {"x": {"$result": "a", "path": "p..q"}}}],
        "b", "steps.1.input.x", "path",
    ),
    "approval with an agent": (
        [{"key": "a", "kind": "approval", "agent_name": "free"}], "a", "steps.0.agent_name", "none"
    ),
    "approval with an input": ([{"key": "a", "kind": "approval", "input": {"x": 1}}], "a", "steps.0.input", "none"),
    "task with an expiry": ([{"key": "a", "expires_seconds": 5.0}], "a", "steps.0.expires_seconds", "only an approval"),
    "text that cannot be stored": ([{"key": "a", "input": {"x": "\x00"}}], "a", "steps.0.input.x", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_step(create: Create, case: str) -> None:
    steps, step, field, words = REFUSED[case]
    with pytest.raises(InvalidWorkflow) as refused:
        create(*steps)
    assert words in str(refused.value)
    if step is None:
        assert refused.value.step in ("a", "b", "c")
    else:
        assert (refused.value.step, refused.value.field) == (step, field)
        assert f"step {step}: " in str(refused.value)
    assert list_workflows() == []


@pytest.mark.parametrize(
    "change",
    [
        {"steps": []},
        {"steps": [{"key": "a"}] * 501},
        {"steps": [{"key": "with space"}]},
        {"steps": [{"key": "x" * 101}]},
        {"steps": [{"key": "a/b"}]},
        {"steps": [{"key": "a", "prio": 1}]},
        {"steps": [{"key": "a", "priority": "urgent"}]},
        {"steps": [{"key": "a", "max_attempts": 0}]},
        {"steps": [{"key": "a", "expires_seconds": -1.0}]},
        {"name": ""},
        {"failure_threshold": 0},
        {"escalation": {"note": "to whom?"}},
    ],
)
def test_shapes_that_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Workflow.model_validate({"name": "test", "steps": [{"key": "a"}], **change})


def test_results_of_all_steps_before_it_may_be_used(create: Create) -> None:
    use = {"x": {"$result": "a", "path": "b.0"}, "y": [{"$result": "b"}]}
    create({"key": "a"}, {"key": "b", "after": ["a"]}, {"key": "c", "after": ["b"], "input": use})


def test_the_order_of_the_steps_does_not_matter(create: Create) -> None:
    create({"key": "b", "after": ["a"], "input": {"x": {"$result": "a"}}}, {"key": "a"})


def test_an_input_with_references_is_not_checked_against_the_model(create: Create) -> None:
    """Nobody knows yet what the result will be; the worker checks it before the code starts."""
    create({"key": "a"}, {"key": "b", "after": ["a"], "agent_name": "strict", "input": {"text": {"$result": "a"}}})


def test_five_hundred_steps_are_accepted(create: Create) -> None:
    chain = [{"key": f"s{n}", "after": [f"s{n - 1}"] if n else []} for n in range(500)]
    assert len(create(*chain).steps) == 500


def test_priorities_have_names() -> None:
    assert Step(key="a", priority="low").priority == 3


def test_references_are_found_wherever_they_are() -> None:
    value = {"a": {"$result": "x"}, "b": [1, {"c": {"$result": "y", "path": "p.0.q"}}], "d": {"$item": True}}
    assert find_references(value) == [
        Reference(["a"], "x", []),
        Reference(["b", "1", "c"], "y", ["p", "0", "q"]),
        Reference(["d"], None, []),
    ]
    assert find_references({"$result": "x", "path": ["with.dot", 3]}) == [Reference([], "x", ["with.dot", "3"])]
    assert find_references({"result": "x", "$other": 1}) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"$result": 5},
        {"$result": "x", "$item": True},
        {"$item": 1},
        {"$item": False},
        {"$result": "x", "path": ""},
        {"$result": "x", "path": 5},
        {"$result": "x", "path": [True]},
        {"$result": "x", "path": [None]},
    ],
)
def test_references_in_a_wrong_form(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidReference):
        find_references({"at": wrong})

"""Inputs that take results of earlier steps, and steps with for_each."""

from collections.abc import Callable
from typing import Any

import pytest

from state import get_task, retry
from state.workers import leases
from state.workflows import StoredWorkflow, approve, get_workflow, resume_workflow
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

RESULT: dict[str, Any] = {
    "text": "hello",
    "none": None,
    "items": [{"name": "a"}, {"name": "b"}],
    "reference": {"$result": "fetch", "path": "secret"},
    "secret": "do not resolve",
    "a.b": 1,
}


def read_input(workflow_id: str, step: str = "use", branch: int = 0) -> Any:
    return get_task(get_workflow(workflow_id).get_step(step).task_ids[branch]).payload["input"]


@pytest.mark.parametrize(
    ("declared", "made"),
    [
        ({"x": {"$result": "fetch", "path": "text"}}, {"x": "hello"}),
        ({"$result": "fetch", "path": "items.1"}, {"name": "b"}),
        ({"x": {"$result": "fetch", "path": "items.-1.name"}}, {"x": "b"}),
        ({"x": {"$result": "fetch", "path": "none"}}, {"x": None}),
        ({"x": [0, [{"$result": "fetch", "path": "items.0.name"}], 2]}, {"x": [0, ["a"], 2]}),
        ({"x": {"$result": "fetch", "path": ["a.b"]}}, {"x": 1}),
        # A result that looks like a reference is data.
        ({"x": {"$result": "fetch", "path": "reference"}}, {"x": RESULT["reference"]}),
        ({"x": {"$result": "fetch"}}, {"x": RESULT}),
        (
            {"x": {"$result": "fetch", "path": "text"}, "y": {"$result": "fetch", "path": "text"}},
            {"x": "hello", "y": "hello"},
        ),
        ({"a": {"0": {"$result": "fetch", "path": "text"}}, "b": "kept"}, {"a": {"0": "hello"}, "b": "kept"}),
    ],
)
def test_results_are_put_into_the_input(create: Create, hand: HandWorker, declared: Any, made: Any) -> None:
    its_id = create({"key": "fetch"}, {"key": "use", "after": ["fetch"], "input": declared}).workflow_id
    hand.run("fetch", RESULT)
    assert read_input(its_id) == made
    assert get_workflow(its_id).get_step("use").input == declared
    hand.run("use")


@pytest.mark.parametrize(
    ("result", "path", "words"),
    [
        (RESULT, "missing", "The result of step fetch has no missing"),
        (RESULT, "items.2.name", "has no items.2.name"),
        (RESULT, "text.length", "has no text.length"),
        (None, "text", "has no text"),
        ([1, 2], "first", "has no first"),
    ],
)
def test_a_missing_path_makes_the_step_dead_without_a_task(
    create: Create, hand: HandWorker, result: Any, path: str, words: str
) -> None:
    its_id = create(
        {"key": "fetch"}, {"key": "use", "after": ["fetch"], "input": {"x": {"$result": "fetch", "path": path}}}
    ).workflow_id
    hand.run("fetch", result)
    workflow = get_workflow(its_id)
    step = workflow.get_step("use")
    assert (step.status, step.task_ids, workflow.status) == ("dead", [], "failed")
    assert step.error is not None
    assert step.error["type"] == "InvalidStepInput"
    assert words in step.error["message"]
    assert words in (workflow.reason or "")


def test_a_result_of_null_is_a_result(create: Create, hand: HandWorker) -> None:
    its_id = create(
        {"key": "fetch"}, {"key": "use", "after": ["fetch"], "input": {"x": {"$result": "fetch"}}}
    ).workflow_id
    hand.run("fetch", None)
    assert read_input(its_id) == {"x": None}
    hand.run("use")


def test_the_whole_input_must_become_an_object(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "fetch"}, {"key": "use", "after": ["fetch"], "input": {"$result": "fetch"}}).workflow_id
    hand.run("fetch", [1])
    step = get_workflow(its_id).get_step("use")
    assert step.status == "dead"
    assert "must be an object" in str(step.error)


def test_a_large_result(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "fetch"}, {"key": "use", "after": ["fetch"], "input": {"$result": "fetch"}}).workflow_id
    large = {"rows": [{"n": n, "text": "x" * 1000} for n in range(3000)]}
    hand.run("fetch", large)
    assert read_input(its_id) == large
    hand.run("use")


def test_a_result_that_is_too_large_to_be_shown_is_left_to_its_task(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "fetch"}).workflow_id
    hand.run("fetch", {"text": "x" * 300_000})
    step = get_workflow(its_id).get_step("fetch")
    assert (step.result, step.result_bytes) == (None, 300_012)
    assert len(get_task(step.task_id or "").result["text"]) == 300_000


def test_inputs_that_would_be_too_large_make_the_step_dead(create: Create, hand: HandWorker) -> None:
    """The end of the task before is written all the same."""
    its_id = create(
        {"key": "fetch"},
        {"key": "use", "after": ["fetch"], "for_each": list(range(1000)), "input": {"x": {"$result": "fetch"}}},
    ).workflow_id
    hand.run("fetch", "x" * 100_000)
    workflow = get_workflow(its_id)
    assert workflow.get_step("fetch").status == "completed"
    assert "larger than 64 MB" in str(workflow.get_step("use").error)


def test_results_that_are_too_large_to_be_gathered_make_the_step_dead(create: Create, hand: HandWorker) -> None:
    its_id = create(
        {"key": "each", "for_each": [1, 2, 3]},
        {"key": "use", "after": ["each"], "input": {"x": {"$result": "each"}}},
    ).workflow_id
    hand.take()
    for branch in range(3):
        hand.complete("each", "x" * 12_000_000, branch=branch)
    workflow = get_workflow(its_id)
    assert (workflow.get_step("each").status, workflow.get_step("each").result) == ("completed", None)
    assert "larger than 32 MB" in str(workflow.get_step("use").error)


def test_the_decision_on_an_approval_is_its_result(create: Create, hand: HandWorker) -> None:
    its_id = create(
        {"key": "ask", "kind": "approval"},
        {"key": "use", "after": ["ask"], "input": {"x": {"$result": "ask", "path": "note"}}},
    ).workflow_id
    approve(its_id, "ask", by="anna", note="go")
    assert read_input(its_id) == {"x": "go"}
    hand.run("use")


def test_for_each_starts_a_task_for_each_element_and_a_later_step_gathers_them(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    each = {
        "whole": {"$item": True},
        "name": {"$item": True, "path": "name"},
        "from": {"$result": "fetch", "path": "text"},
    }
    its_id = create(
        {"key": "fetch"},
        {"key": "each", "after": ["fetch"], "for_each": {"$result": "fetch", "path": "items"}, "input": each},
        {
            "key": "use",
            "after": ["each"],
            "input": {"all": {"$result": "each"}, "b": {"$result": "each", "path": "1.got"}},
        },
    ).workflow_id
    hand.run("fetch", RESULT)
    assert [read_input(its_id, "each", branch) for branch in (0, 1)] == [
        {"whole": {"name": "a"}, "name": "a", "from": "hello"},
        {"whole": {"name": "b"}, "name": "b", "from": "hello"},
    ]
    assert hand.take() == ["each", "each"]
    hand.complete("each", {"got": 2}, branch=1)
    assert statuses(its_id)["each"] == "running"
    hand.complete("each", {"got": 1}, branch=0)
    assert read_input(its_id) == {"all": [{"got": 1}, {"got": 2}], "b": 2}
    assert get_workflow(its_id).get_step("each").result == [{"got": 1}, {"got": 2}]
    hand.run("use")
    assert get_workflow(its_id).status == "completed"


def test_an_element_that_looks_like_a_reference_is_data(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "fetch"}, {
        "key": "use", "after": ["fetch"], "for_each": {"$result": "fetch"}, "input": {"x": {"$item": True}},
    }).workflow_id  # fmt: skip
    hand.run("fetch", [{"$result": "fetch"}, {"$item": True}])
    assert [read_input(its_id, branch=branch) for branch in (0, 1)] == [
        {"x": {"$result": "fetch"}},
        {"x": {"$item": True}},
    ]
    hand.take()
    hand.complete("use", branch=0)
    hand.complete("use", branch=1)


def test_an_empty_list_completes_the_step_at_once(create: Create, hand: HandWorker) -> None:
    its_id = create(
        {"key": "none", "for_each": []}, {"key": "use", "after": ["none"], "input": {"x": {"$result": "none"}}}
    ).workflow_id
    workflow = get_workflow(its_id)
    assert workflow.get_step("none").status == "completed"
    assert workflow.get_step("none").result == []
    assert read_input(its_id) == {"x": []}
    hand.run("use")
    assert get_workflow(its_id).status == "completed"


@pytest.mark.parametrize("count", [1, 1000])
def test_so_many_elements(create: Create, hand: HandWorker, connection: Observer, count: int) -> None:
    its_id = create(
        {"key": "each", "for_each": list(range(count)), "input": {"n": {"$item": True}}},
        {"key": "use", "after": ["each"], "input": {"all": {"$result": "each"}}},
    ).workflow_id
    assert len(hand.take()) == count
    ends = [hand.make_end("each", branch, result=branch) for branch in range(count)]
    assert len(leases.settle(hand.connection, hand.name, ends)) == count, "a batch: one statement"
    assert read_input(its_id) == {"all": list(range(count))}
    assert (
        connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE workflow_id = %s", [its_id])["n"]
        == count + 1
    )
    hand.run("use")


@pytest.mark.parametrize(
    ("result", "words"), [({"a": 1}, "needs a list"), ([0] * 1001, "1001 elements"), (None, "list")]
)
def test_a_list_that_is_not_usable_makes_the_step_dead(
    create: Create, hand: HandWorker, result: Any, words: str
) -> None:
    its_id = create({"key": "fetch"}, {"key": "use", "after": ["fetch"], "for_each": {"$result": "fetch"}}).workflow_id
    hand.run("fetch", result)
    step = get_workflow(its_id).get_step("use")
    assert (step.status, step.task_ids) == ("dead", [])
    assert words in str(step.error)


def test_one_dead_task_makes_the_step_dead_while_others_live(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    workflow = create({"key": "each", "for_each": [0, 1, 2]}, {"key": "use", "after": ["each"]})
    its_id = workflow.workflow_id
    hand.take()
    hand.die("each", branch=1)
    assert statuses(its_id) == {"each": "dead", "use": "pending"}
    assert get_workflow(its_id).status == "failed"
    hand.complete("each", branch=0)
    assert get_workflow(its_id).get_step("each").task_counts == {"completed": 1, "dead": 1, "running": 1}
    retry(workflow.get_step("each").task_ids[1])
    assert statuses(its_id)["each"] == "running"
    resume_workflow(its_id)
    hand.complete("each", branch=2)
    hand.take()
    hand.complete("each", branch=1)
    hand.run("use")
    assert get_workflow(its_id).status == "completed"

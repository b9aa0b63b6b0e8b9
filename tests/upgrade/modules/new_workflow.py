"""Creates a workflow of the agents that both releases have, and prints its id. Run by the code of this release."""

import actors  # noqa: F401  (registers the agents)
from state.workflows.creation import create_workflow
from state.workflows.definition import Step, Workflow


def count(key: str, after: list[str], **given: object) -> Step:
    text = {"text": "One two. Three!", **given}
    return Step(key=key, agent_name="text", task_type="statistics", input=text, after=after)


steps = [
    count("first", []),
    count("left", ["first"], top={"$result": "first", "path": "words"}),
    count("right", ["first"]),
    count("last", ["left", "right"]),
]
print(create_workflow(Workflow(name="upgrade", steps=steps)).workflow_id)

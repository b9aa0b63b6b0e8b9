"""Workflows: steps with dependencies, tasks of agents and approvals of people. The orchestrator itself is the database
function advance_workflow; here are the definition of a workflow, and the verbs that create, change and read one."""

from state.workflows.approvals import approve, reject
from state.workflows.control import cancel_workflow, resume_workflow
from state.workflows.creation import create_task, create_workflow
from state.workflows.definition import Escalation, Step, Workflow
from state.workflows.reads import StoredStep, StoredWorkflow, get_workflow, list_workflows

__all__ = [
    "Escalation",
    "Step",
    "StoredStep",
    "StoredWorkflow",
    "Workflow",
    "approve",
    "cancel_workflow",
    "create_task",
    "create_workflow",
    "get_workflow",
    "list_workflows",
    "reject",
    "resume_workflow",
]

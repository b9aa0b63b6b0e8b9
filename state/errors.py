"""Errors that verbs raise. Each has the fields that its handler needs."""

from collections.abc import Iterable


class StateError(Exception):
    """Base of all errors raised by state."""


class TaskNotFound(StateError):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"There is no task {task_id!r}.")
        self.task_id = task_id


class NoWebhook(StateError):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"Task {task_id} was submitted without a webhook_url.")
        self.task_id = task_id


class Forbidden(StateError):
    """The caller's role or tenant does not allow this. The text says what is needed."""


class KeyNotFound(StateError):
    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no API key {key_id!r}.")
        self.key_id = key_id


class LastOperatorKey(StateError):
    """Without this key nobody could manage keys over HTTP any more."""

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"{key_id} is the last operator's key without a tenant. Create another one first, or revoke it with "
            f"`callboard keys revoke {key_id} --last` where the database is."
        )
        self.key_id = key_id


class ContentNotFound(StateError):
    def __init__(self, content_id: str) -> None:
        super().__init__(f"There is no content {content_id!r}.")
        self.content_id = content_id


class ContentStoreFailed(StateError):
    """The content store cannot be reached, or is full. Not an error of the provider, and worth another attempt."""


class GenerationNotFound(StateError):
    def __init__(self, generation_id: str) -> None:
        super().__init__(f"There is no generation {generation_id!r}.")
        self.generation_id = generation_id


class AgentEventNotFound(StateError):
    def __init__(self, event_id: str) -> None:
        super().__init__(f"There is no agent event {event_id!r}.")
        self.event_id = event_id


class PromptNotFound(StateError):
    def __init__(self, prompt_id: str) -> None:
        super().__init__(f"There is no prompt {prompt_id!r}.")
        self.prompt_id = prompt_id


class GateNotFound(StateError):
    def __init__(self, key: str) -> None:
        super().__init__(f"There is no gate {key!r}.")
        self.key = key


class IllegalTransition(StateError):
    def __init__(self, task_id: str, verb: str, status: str) -> None:
        super().__init__(f"Task {task_id} is {status}: {verb} is not possible in this status.")
        self.task_id = task_id
        self.verb = verb
        self.status = status


class WorkflowError(StateError):
    """Base of the errors about workflows."""


class WorkflowNotFound(WorkflowError):
    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"There is no workflow {workflow_id!r}.")
        self.workflow_id = workflow_id


class StepNotFound(WorkflowError):
    def __init__(self, workflow_id: str, step: str) -> None:
        super().__init__(f"Workflow {workflow_id} has no step {step!r}.")
        self.workflow_id = workflow_id
        self.step = step


class InvalidWorkflow(WorkflowError):
    """A workflow that cannot run as it is declared. `step`: the key of the step at fault."""

    def __init__(self, message: str, field: str, step: str | None) -> None:
        super().__init__(message)
        self.field = field
        self.step = step


class IllegalWorkflow(WorkflowError):
    """Not possible while the workflow is in this status."""

    def __init__(self, workflow_id: str, verb: str, status: str) -> None:
        super().__init__(f"Workflow {workflow_id} is {status}: {verb} is not possible in this status.")
        self.workflow_id = workflow_id
        self.status = status


class WorkflowNotRunning(IllegalWorkflow):
    """Nothing can be added to a workflow that does not run."""

    def __init__(self, workflow_id: str, status: str) -> None:
        super().__init__(workflow_id, "adding a task", status)


class StepsStillFailed(IllegalWorkflow):
    """A workflow cannot go on before enough of its steps are repaired."""

    def __init__(self, workflow_id: str, status: str, steps: list[str]) -> None:
        super().__init__(workflow_id, "resume", status)
        self.args = (f"Workflow {workflow_id} cannot go on: {', '.join(steps) or 'its tasks'} must be repaired first.",)
        self.steps = steps


class IllegalStep(WorkflowError):
    """Not possible while the step is in this status."""

    def __init__(self, workflow_id: str, step: str, verb: str, status: str) -> None:
        super().__init__(f"Step {step} of workflow {workflow_id} is {status}: {verb} is not possible.")
        self.workflow_id = workflow_id
        self.step = step
        self.status = status


class DedupKeyTaken(StateError):
    """A dead task cannot be revived while another one holds its dedup key."""

    def __init__(self, task_id: str, dedup_key: str, holder: str) -> None:
        super().__init__(
            f"Task {task_id} cannot be revived: the unfinished task {holder} holds its dedup key {dedup_key!r}."
        )
        self.task_id = task_id
        self.holder = holder


class ProjectNotFound(StateError):
    def __init__(self, project_id: str) -> None:
        super().__init__(f"There is no project {project_id!r}.")
        self.project_id = project_id


class ItemNotFound(StateError):
    def __init__(self, project_id: str, item_id: str) -> None:
        super().__init__(f"Project {project_id} has no item {item_id!r}.")
        self.item_id = item_id


class IllegalItemStatus(StateError):
    def __init__(self, item_id: str, verb: str, status: str) -> None:
        super().__init__(f"Item {item_id} is {status}: {verb} is not possible in this status.")
        self.item_id = item_id
        self.status = status


class QueueAlreadyRunning(StateError):
    """A project has one live run at most. `run_id` is the id of its task."""

    def __init__(self, project_id: str, run_id: str) -> None:
        super().__init__(f"The queue of project {project_id} is already running: its run is {run_id}.")
        self.project_id = project_id
        self.run_id = run_id


class RunReplaced(StateError):
    """A dead run cannot be revived after another run has taken over its item."""

    def __init__(self, task_id: str, holder: str) -> None:
        super().__init__(f"Run {task_id} cannot be revived: run {holder} has taken over its item.")
        self.task_id = task_id
        self.holder = holder


class ScheduleNotFound(StateError):
    def __init__(self, schedule_id: str) -> None:
        super().__init__(f"There is no schedule {schedule_id!r}.")
        self.schedule_id = schedule_id


class ScheduleExists(StateError):
    def __init__(self, name: str, tenant: str | None) -> None:
        of_tenant = "" if tenant is None else f" of tenant {tenant}"
        super().__init__(f"There is a schedule {name!r}{of_tenant} already.")
        self.name = name


class ScheduleBusy(StateError):
    """A schedule that allows no overlap is not started while its last task has not ended."""

    def __init__(self, schedule_id: str, reason: str) -> None:
        super().__init__(f"Schedule {schedule_id} is not started: {reason}, and it allows no overlap.")
        self.schedule_id = schedule_id


class EmptyFilter(StateError):
    """A verb that acts on many tasks got no filter, and was not told to act on all."""

    def __init__(self, verb: str, wanted: str = "actor, agent_name, task_type, error_type or older_than") -> None:
        super().__init__(f"{verb} needs {wanted}, or `all`.")
        self.verb = verb


class LeaseLost(StateError):
    """The worker no longer holds the lease. It must stop the execution and write nothing more for the task."""

    def __init__(self, task_id: str, epoch: int) -> None:
        super().__init__(f"The lease on task {task_id} (epoch {epoch}) is gone.")
        self.task_id = task_id
        self.epoch = epoch


class UnknownActor(StateError):
    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        super().__init__(f"There is no actor {name!r}. Known actors: {', '.join(self.known) or 'none'}.")


class UnknownAgent(StateError, ValueError):
    """There is no such agent, or it has no such task type. `field` names which of the two."""

    def __init__(self, agent_name: str, task_type: str, known: Iterable[tuple[str, str]]) -> None:
        agents: dict[str, list[str]] = {}
        for name, its_type in sorted(known):
            agents.setdefault(name, []).append(its_type)
        self.agent_name = agent_name
        self.task_type = task_type
        if agent_name in agents:
            self.field, self.known = "task_type", agents[agent_name]
            text = f"Agent {agent_name!r} has no task type {task_type!r}. It has: {', '.join(self.known)}."
        else:
            self.field, self.known = "agent_name", list(agents)
            text = f"There is no agent {agent_name!r}. Known agents: {', '.join(self.known) or 'none'}."
        super().__init__(text)


class InvalidDeclaration(StateError, ValueError):
    """The modules of CALLBOARD_ACTORS declare an agent twice, or by a name that is not possible."""


class TasksRefused(StateError):
    """The code of an agent has tried to create a task."""

    category = "permanent"

    def __init__(self) -> None:
        super().__init__("Agents do not create tasks; the orchestrator does.")


class InvalidPayload(StateError):
    """A payload, or another field of a request, is not valid."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class IdempotencyConflict(StateError):
    """The key was used with another body."""


class IdempotencyPending(StateError):
    """The first request with this key is still under way."""


class NotReady(StateError):
    """The database cannot be reached, or its schema is not the one this code needs."""

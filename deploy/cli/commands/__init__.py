"""All commands, in the order of `callboard --help`. A new command is a file in this folder and an entry below."""

from collections.abc import Callable

import typer

from deploy.cli.commands import (
    actors,
    agent_events,
    agents,
    batch,
    bulk,
    cancel,
    cleanup,
    control,
    deadletters,
    doctor,
    gates,
    keys,
    metrics,
    migrate,
    overview,
    profile,
    project,
    prompts,
    providers,
    queues,
    recall,
    schedules,
    show,
    submit,
    targets,
    up,
    watch,
    webhooks,
    whoami,
    workers,
    workflow,
)
from deploy.cli.commands import gate_show as gate_show  # adds its command to the group `gates`
from deploy.cli.commands import list as listing
from deploy.cli.commands import project_queue as project_queue  # adds its commands to the group `project`

COMMANDS: dict[str, Callable[..., None]] = {
    "up": up.up,
    "migrate": migrate.migrate,
    "doctor": doctor.doctor,
    "submit": submit.submit,
    "batch": batch.batch,
    "list": listing.list_tasks,
    "show": show.show,
    "watch": watch.watch,
    "cancel": cancel.cancel,
    "pause": control.pause,
    "resume": control.resume,
    "retry": control.retry,
    "bulk": bulk.bulk,
    "dlq": deadletters.dlq,
    "redrive": deadletters.redrive,
    "dismiss": deadletters.dismiss,
    "delete": cleanup.delete,
    "requeue-orphaned": cleanup.requeue_orphaned,
    "overview": overview.overview,
    "workers": workers.workers,
    "metrics": metrics.metrics,
    "actors": actors.actors,
    "agents": agents.agents,
    "agent-events": agent_events.agent_events,
    "recall": recall.recall,
    "whoami": whoami.whoami,
}
GROUPS: dict[str, typer.Typer] = {
    "gates": gates.group,
    "queues": queues.group,
    "targets": targets.group,
    "providers": providers.group,
    "prompts": prompts.group,
    "workflow": workflow.group,
    "project": project.group,
    "schedules": schedules.group,
    "webhooks": webhooks.group,
    "keys": keys.group,
    "profile": profile.group,
}

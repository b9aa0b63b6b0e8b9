"""A claimed task as a Dramatiq message."""

from dramatiq import Message, MessageProxy

from broker.execution import Execution


def message_for(execution: Execution) -> MessageProxy:
    """Carries the task's id and never its payload: Dramatiq logs the arguments of whatever fails."""
    claimed = execution.claimed
    return MessageProxy(
        Message(
            queue_name=claimed.queue,
            actor_name=claimed.actor,
            args=(claimed.id,),
            kwargs={},
            options={},
            message_id=claimed.id,
        )
    )

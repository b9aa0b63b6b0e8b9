"""A claimed task as a Dramatiq message."""

from dramatiq import Message, MessageProxy

from broker.execution.execution import Execution


def message_for(execution: Execution) -> MessageProxy:
    """Carries the key of the execution and never the payload: Dramatiq logs the arguments of a message that fails."""
    claimed = execution.claimed
    return MessageProxy(
        Message(
            queue_name=claimed.queue,
            actor_name=claimed.actor,
            args=execution.key,
            kwargs={},
            options={},
            message_id=claimed.id,
        )
    )

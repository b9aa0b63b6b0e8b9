"""Dramatiq messages for claimed tasks."""

from dramatiq import Message, MessageProxy

from broker.execution.execution import Execution


def make_message(execution: Execution) -> MessageProxy:
    """Returns a message with the key of the execution, without its payload: Dramatiq logs the arguments of messages
    that fail."""
    claimed = execution.claimed
    return MessageProxy(
        Message(
            queue_name=claimed.queue,
            actor_name=claimed.actor,
            args=execution.key,
            kwargs={},
            options={"max_retries": 0},  # the state store retries
            message_id=claimed.id,
        )
    )

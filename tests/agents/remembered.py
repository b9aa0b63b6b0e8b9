"""Agent events that tests search for."""

from providers.blocking import wait_for
from providers.embedding import registry
from state.agents.events import Found
from tests.support.observer import Observer

FACTS = ("the brake pads of a Golf IV", "an invoice for forty tires", "a poem about the sea in winter")


def embed_all(connection: Observer) -> None:
    """Embeds as the jobs do, without workers."""
    rows = connection.execute("SELECT id, text FROM callboard.agent_events WHERE embedding IS NULL").fetchall()
    embedded = wait_for(registry.get("local").embed([row["text"] for row in rows]))
    for row, vector in zip(rows, embedded.vectors, strict=True):
        connection.execute(
            "UPDATE callboard.agent_events SET embedding = %s, embedding_model = %s, embedded_at = now() WHERE id = %s",
            [vector, embedded.model, row["id"]],
        )


def read_texts(found: Found) -> list[str]:
    return [event.text.split("\n")[1].removeprefix("text: ") for event in found.items]

"""The verdict on what readers of streams and receivers of webhooks were told: every event once."""

from collections import Counter
from collections.abc import Iterable, Mapping

from deploy.prove.history import TaskFacts
from deploy.prove.judge import Violation
from deploy.prove.readers import Story
from deploy.prove.receiver import Delivery


def judge_streams(stories: Iterable[Story], tasks: Mapping[str, TaskFacts]) -> list[Violation]:
    """Each reader got every event from its position to the one that `done` named, once, in their order."""
    violations = []
    for story in stories:
        wrong = _find_wrong(story, tasks.get(story.task))
        if wrong:
            violations.append(Violation("missed_events", f"the stream of {story.task} {wrong}"))
    return violations


def _find_wrong(story: Story, facts: TaskFacts | None) -> str | None:
    if facts is None:
        return "is of a task that is not there"
    if story.last is None or story.position is None:
        return f"has not ended after {story.connections} connections, {len(story.events)} events"
    expected = [(n, facts.events[n - 1][0]) for n in range(story.position + 1, min(story.last, len(facts.events)) + 1)]
    if story.last > len(facts.events):
        return f"ended with event {story.last} of {len(facts.events)}"
    if story.events == expected:
        return None
    missing = sorted(set(expected) - set(story.events))
    repeated = sorted(event for event, times in Counter(story.events).items() if times > 1)
    unknown = sorted(set(story.events) - set(expected))
    return f"lacks {missing}, brought {repeated} again and {unknown} that are not in the history, or their order"


def judge_deliveries(deliveries: Iterable[Delivery], tasks: Mapping[str, TaskFacts]) -> list[Violation]:
    """A receiver drops a message whose id it has accepted before. What is left is every event that was to be announced,
    once; what was sent again is what was sent before."""
    violations = []
    bodies: dict[str, set[str]] = {}
    seen: set[tuple[str, int]] = set()
    for delivery in deliveries:
        bodies.setdefault(delivery.id, set()).add(delivery.body)
        seen.add((delivery.task, delivery.n))
        if delivery.id != f"{delivery.task}_{delivery.n}":
            violations.append(Violation("missed_events", f"webhook {delivery.id} is of {delivery.task} {delivery.n}"))
    expected = {(task, n) for task, facts in tasks.items() for n in facts.announced}
    violations += [Violation("missed_events", f"no webhook for event {n} of {t}") for t, n in sorted(expected - seen)]
    violations += [
        Violation("missed_events", f"webhook for {t} {n}, not announced") for t, n in sorted(seen - expected)
    ]
    changed = sorted(name for name, each in bodies.items() if len(each) > 1)
    violations += [
        Violation("missed_events", f"webhook {name} said something else when it came again") for name in changed
    ]
    return violations


def count_repeated(deliveries: Iterable[Delivery]) -> int:
    return sum(times - 1 for times in Counter(delivery.id for delivery in deliveries).values())

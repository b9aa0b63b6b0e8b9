"""What came out of a run, or of several: figures, a table of them, and the violations that were found."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from deploy.prove.judge import Violation
from deploy.prove.recovery import Recovery, percentile

LOST = ("unfinished",)
DOUBLED = (
    "begun_twice", "doubled", "targets_doubled", "epochs_fallen", "submitted_twice", "outlived", "late_call",
    "late_write", "taken_for_dead",
)  # fmt: skip
OVER_LIMIT = ("over_limit",)
MISSED = ("missed_events",)
OTHERS = ("out_of_order", "disagreement", "invariants", "run_broken")
_SHARES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
KINDS = {"lost": LOST, "doubled": DOUBLED, "over_limit": OVER_LIMIT, "missed_events": MISSED, "other": OTHERS}


@dataclass(slots=True)
class Verdict:
    seeds: list[int]
    faults: Counter[str] = field(default_factory=Counter)  # by kind
    verbs: Counter[str] = field(default_factory=Counter)  # what people did, by kind
    figures: Counter[str] = field(default_factory=Counter)
    recoveries: list[Recovery] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)  # what this machine does not permit, and why

    def add(self, other: "Verdict") -> Self:
        self.seeds += other.seeds
        self.faults += other.faults
        self.verbs += other.verbs
        self.figures.update(other.figures)  # also those that are zero
        self.recoveries += other.recoveries
        self.violations += other.violations
        self.left_out |= other.left_out
        return self

    def count(self, group: str) -> int:
        return sum(violation.kind in KINDS[group] for violation in self.violations)

    def summary(self) -> str:
        """The last line of a run."""
        numbers = {
            "faults": self.faults.total() + self.verbs.total(),
            "accepted": self.figures["accepted"],
            **{group: self.count(group) for group in ("lost", "doubled", "over_limit", "missed_events")},
        }
        return " ".join(f"{name} {number}" for name, number in numbers.items())

    def as_json(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "faults": dict(self.faults),
            "verbs": dict(self.verbs),
            "figures": dict(self.figures),
            "recovery_seconds": self._measure(),
            "violations": [{"kind": violation.kind, "text": violation.text} for violation in self.violations],
        }

    def _measure(self) -> dict[str, dict[str, float]]:
        """Seconds until the tasks were queued again, and until they ran again."""
        measured = {"was queued": [each.noticed for each in self.recoveries],
                    "ran again": [each.seconds for each in self.recoveries]}  # fmt: skip
        return {
            what: {name: percentile(values, share) for name, share in _SHARES.items()}
            for what, values in measured.items()
            if values
        }

    def table(self) -> str:
        seeds = str(self.seeds[0]) if len(self.seeds) == 1 else f"{self.seeds[0]} to {self.seeds[-1]}"
        lines = [f"seed {seeds}", "", *_section("faults injected", self.faults)]
        lines += [f"  left out: {reason}" for reason in sorted(self.left_out)]
        lines += ["", *_section("asked for meanwhile", self.verbs), "", *_section("what ran", self.figures)]
        if self.recoveries:
            lines += ["", f"{len(self.recoveries)} executions whose process was killed or stopped"]
            for what, measured in self._measure().items():
                texts = [f"{name} {seconds:.1f} s" for name, seconds in measured.items()]
                lines += [f"  until the task {what}: {', '.join(texts)}"]
            lines += [f"  queued last: {max(self.recoveries).what}"]
        found = Counter(violation.kind for violation in self.violations)
        every = [kind for kinds in KINDS.values() for kind in kinds]
        lines += ["", "violations", *(f"  {kind:24}{found[kind]:>9}" for kind in every)]
        return "\n".join(lines)


def _section(title: str, counts: Counter[str]) -> list[str]:
    rows = [f"  {name.replace('_', ' '):24}{count:>9}" for name, count in sorted(counts.items())]
    return [title, *rows]

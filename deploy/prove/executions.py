"""The journals of a run, as objects: executions with a begin and an end, the calls they made, the faults."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple

from deploy.prove import journal
from deploy.prove.journal import Entry


class Interval(NamedTuple):
    since: float
    until: float

    @property
    def length(self) -> float:
        return self.until - self.since


@dataclass(slots=True)
class Call:
    name: str
    number: int
    at: float
    result: str


@dataclass(slots=True)
class Execution:
    task: str
    epoch: int
    process: str
    begin: float
    end: float
    how: str | None = None  # "done", the name of an exception, or None when its process ended before it
    gates: tuple[str, ...] = ()
    target: str | None = None
    pauses: list[Interval] = field(default_factory=list)  # its process was stopped, or did not get to run
    calls: list[Call] = field(default_factory=list)

    claimed: float | None = None  # when, if that is known; otherwise it is taken to be the begin

    @property
    def key(self) -> tuple[str, int]:
        return self.task, self.epoch

    def own_pauses(self) -> list[Interval]:
        """Those since it was claimed: it may have been stopped between that and its begin."""
        since = self.begin if self.claimed is None else min(self.claimed, self.begin)
        return [pause for pause in self.pauses if pause.until > since]

    def __str__(self) -> str:
        paused = "".join(f", paused {p.since:.3f} to {p.until:.3f}" for p in self.own_pauses())
        when = f"{self.begin:.3f} to {self.end:.3f}"
        return f"{self.task} epoch {self.epoch} in {self.process}, {when} ({self.how}{paused})"


@dataclass(frozen=True, slots=True)
class LimitChange:
    """The times just before and just after the change: it was committed in between."""

    gate: str
    value: int | None
    before: float
    after: float


@dataclass(slots=True)
class Journals:
    executions: list[Execution]
    limits: list[LimitChange] = field(default_factory=list)
    faults: list[Entry] = field(default_factory=list)


def load(tasks: Path, faults: Path | None = None) -> Journals:
    fault_lines = journal.read(faults) if faults is not None else []
    executions = build(journal.read(tasks), journal.last_beats(tasks), fault_lines)
    limits = [
        LimitChange(line["gate"], line["value"], line["before"], line["after"])
        for line in fault_lines
        if line["what"] == "limit"
    ]
    return Journals(executions, limits, fault_lines)


def build(lines: Iterable[Entry], beats: Mapping[str, float], faults: Sequence[Entry] = ()) -> list[Execution]:
    """One whose end was not written ended when its process gave its last sign of life."""
    runs: dict[str, Execution] = {}
    gaps: dict[str, list[Interval]] = {}
    for line in sorted(lines, key=lambda line: line["what"] != "begin"):
        match line["what"]:
            case "begin":
                runs[line["run"]] = _begun(line, beats)
            case "end":
                runs[line["run"]].end, runs[line["run"]].how = line["at"], line["how"]
            case "call":
                runs[line["run"]].calls.append(Call(line["name"], line["number"], line["at"], line["result"]))
            case "gap":
                gaps.setdefault(line["process"], []).append(Interval(line["since"], line["until"]))
    stops = stopped_by_faults(faults)
    for run in runs.values():
        pauses = [*gaps.get(run.process, ()), *stops.get(_pid(run.process), ())]
        run.pauses = sorted(pause for pause in pauses if pause.since < run.end)
    return sorted(runs.values(), key=lambda run: run.begin)


def _begun(line: Entry, beats: Mapping[str, float]) -> Execution:
    return Execution(
        task=line["task"],
        epoch=line["epoch"],
        process=line["process"],
        begin=line["at"],
        end=max(beats.get(line["process"], line["at"]), line["at"]),
        gates=tuple(line["gates"]),
        target=line["target"],
    )


def _pid(process: str) -> int:
    return int(process.split(".")[0])


def stopped_by_faults(faults: Iterable[Entry]) -> dict[int, list[Interval]]:
    """By pid. A process that is never continued is stopped for ever."""
    since: dict[int, float] = {}
    stops: dict[int, list[Interval]] = {}
    for line in faults:
        for pid in line.get("pids", ()):
            if line["what"] in ("stop", "stall"):
                since.setdefault(pid, line["at"])
            elif pid in since:  # continued or killed
                stops.setdefault(pid, []).append(Interval(since.pop(pid), line["at"]))
    for pid, begun in since.items():
        stops.setdefault(pid, []).append(Interval(begun, inf))
    return stops

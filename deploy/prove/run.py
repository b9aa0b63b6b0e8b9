"""One run from its start to its verdict."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from deploy.prove.cluster import Cluster, Plan
from deploy.prove.executions import Journals, load
from deploy.prove.faults import EXPECTED, Faults
from deploy.prove.history import Clocks, History, judge_history, read_history
from deploy.prove.journal import Journal, now
from deploy.prove.judge import Rules, Violation, judge
from deploy.prove.readers import Readers
from deploy.prove.receiver import Receiver
from deploy.prove.recovery import measure_recoveries
from deploy.prove.requests import Requests
from deploy.prove.schedule import Step
from deploy.prove.verdict import Verdict
from deploy.prove.waiting import NotInTime, wait_until
from deploy.prove.watching import count_repeated, judge_deliveries, judge_streams
from deploy.prove.work import Work
from state.proof.reads import read_clock

PATIENCE = 300.0  # seconds until all have ended; on an idle machine it takes about ten
_STREAMS_END = 90.0
_TELL = 10.0  # seconds between two lines of progress

Say = Callable[[str], None]


@dataclass(slots=True)
class Scene:
    """What a run has put together, for those that add to it."""

    folder: Path
    journal: Journal  # of the faults
    receiver: Receiver
    cluster: Cluster
    work: Work


class Run:
    """What is run and what may happen to it is said by a subclass. The settings of this process name the database."""

    lease = 4.0
    pulse = 0.5
    gates: Sequence[str] = ()  # whose limits are changed
    may_die = False  # dead tasks have ended as well
    notes_calls = True  # the code writes down its calls of the context

    def __init__(self, seed: int, seconds: float, folder: Path, say: Say = print) -> None:
        self.seed = seed
        self.seconds = seconds
        self.folder = folder
        self.say = say
        self.left_out: set[str] = set()

    def make_plan(self, receiver: Receiver) -> Plan:
        raise NotImplementedError

    def make_steps(self) -> list[Step]:
        raise NotImplementedError

    def make_work(self, journal: Journal, requests: Requests, readers: Readers, receiver: Receiver) -> Work:
        return Work(journal, requests, readers, receiver.url)

    def make_faults(self, scene: Scene) -> Faults:
        return Faults(scene.cluster, scene.journal, [scene.work])

    def judge_more(self, _scene: Scene, _history: History, _journals: Journals) -> list[Violation]:
        return []

    def keeps_journal(self, _code: str) -> bool:
        """Whether an actor, or an agent, writes a journal."""
        return True

    def list_canceled(self, scene: Scene) -> set[str]:
        return scene.work.canceled

    def count_more(self, _scene: Scene) -> Mapping[str, int]:
        return {}

    @property
    def tasks_journal(self) -> Path:
        return self.folder / "tasks.journal"

    def settings(self, receiver: Receiver) -> dict[str, str]:
        """Of all programs."""
        return {
            "CALLBOARD_LEASE_SECONDS": f"{self.lease:g}",
            "CALLBOARD_PULSE_SECONDS": f"{self.pulse:g}",
            "CALLBOARD_GRACE_SECONDS": "1",
            "CALLBOARD_WEBHOOK_HOSTS": receiver.host,
        }

    def run(self) -> Verdict:
        self.say(f"seed {self.seed}: {self.seconds:g} s of faults, journals in {self.folder}")
        with ExitStack() as stack:
            journal = Journal(self.folder / "faults.journal")
            stack.callback(journal.close)
            write_clock(journal)
            receiver = stack.enter_context(Receiver())
            cluster = Cluster(self.make_plan(receiver), self.folder, journal)
            stack.callback(cluster.close)
            readers, requests = Readers(cluster.ports), Requests(cluster.ports)
            stack.callback(requests.close)
            try:
                work = self.make_work(journal, requests, readers, receiver)
                scene = Scene(self.folder, journal, receiver, cluster, work)
                faults = self.make_faults(scene)
                self._blow(faults, work)
                self.say(f"seed {self.seed}: no more faults, waiting for {len(work.accepted)} tasks to end")
                broken = [Violation("run_broken", error) for error in [*faults.errors, *requests.failures]]
                broken += self._calm_down(scene)
            finally:
                readers.close(_STREAMS_END)
            work.note_limits(self.gates)
            history = read_history(self.keeps_journal)
            verdict = self._judge(scene, history, readers)
        verdict.violations += broken
        verdict.figures.update(self.count_more(scene))
        return verdict

    def _blow(self, faults: Faults, work: Work) -> None:
        begun = told = time.monotonic()
        threads = ThreadPoolExecutor(48)
        try:
            for step in self.make_steps():
                while (left := begun + step.at - time.monotonic()) > 0:
                    time.sleep(min(left, 1))
                threads.submit(faults.do, step)
                if time.monotonic() - told > _TELL:
                    told = time.monotonic()
                    done = f"{faults.injected} faults, {faults.kills} kills, {len(work.accepted)} tasks accepted"
                    self.say(f"seed {self.seed}: {told - begun:.0f} of {self.seconds:g} s, {done}")
            faults.over.set()
            threads.shutdown()
        finally:
            faults.over.set()
            threads.shutdown(wait=False, cancel_futures=True)  # when somebody ends the run before its time

    def _calm_down(self, scene: Scene) -> list[Violation]:
        """No more faults, nothing is paused: everything ends."""
        scene.cluster.go_on()
        left: dict[str, int] = {}

        def all_ended() -> bool:
            nonlocal left
            try:
                left = scene.work.unfinished()
            except EXPECTED:
                return False
            return not left

        try:
            scene.work.open_all(self.gates)
            wait_until(all_ended, PATIENCE, "all tasks have ended", every=0.5)
        except NotInTime as error:
            return [Violation("unfinished", f"{left} ({error})")]
        return []

    def _judge(self, scene: Scene, history: History, readers: Readers) -> Verdict:
        journals = load(self.tasks_journal, scene.journal.path)
        clocks, rules = Clocks(journals.faults), Rules(self.lease)
        work, deliveries = scene.work, scene.receiver.deliveries
        violations = [
            *judge(journals, rules, history.claimed(clocks), history.lost(clocks)),
            *judge_history(
                history, journals.executions, work.accepted, self.list_canceled(scene),
                may_die=self.may_die, notes_calls=self.notes_calls,
            ),
            *judge_streams(readers.stories, history.tasks),
            *judge_deliveries(deliveries, history.tasks),
            *self.judge_more(scene, history, journals),
        ]  # fmt: skip
        injected = [line for line in journals.faults if line["what"] == "injected"]
        figures = {
            "accepted": len(work.accepted),
            "tasks": len(history.tasks),
            "executions": len(journals.executions),
            "stopped past their lease": sum(bool(rules.long_pauses(run)) for run in journals.executions),
            "refused verbs": sum(line["what"] == "refused" for line in journals.faults),
            "kills": sum(line["what"] == "kill" for line in journals.faults),
            "streams": len(readers.stories),
            "connections of streams": sum(story.connections for story in readers.stories),
            "events streamed": sum(len(story.events) for story in readers.stories),
            "webhooks": len({delivery.id for delivery in deliveries}),
            "webhooks sent again": count_repeated(deliveries),
        }
        return Verdict(
            seeds=[self.seed],
            faults=Counter(line["kind"] for line in injected if line["fault"]),
            verbs=Counter(line["kind"] for line in injected if not line["fault"]),
            figures=Counter(figures),
            recoveries=measure_recoveries(journals.executions, rules, history.lost(clocks)),
            violations=violations,
            left_out=self.left_out,
        )


def write_clock(journal: Journal, step: float = 0) -> None:
    """How the database's clock and the journal's differ, for times of the database from `since` on: somewhere in what
    the clock has jumped over, so that all before the step are earlier and all after it later."""
    before = now()
    database = read_clock()
    offset = (before + now()) / 2 - database
    journal.write("clock", since=database - step / 2, offset=offset)

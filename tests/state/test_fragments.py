"""Knowledge that SQL files share is written once: how a move writes its event, which statuses are finished, which kinds
of events there are."""

import re
from pathlib import Path

from state.database.fragments import read_filled
from state.tasks.events import EVENT_KINDS, KINDS, RESERVED_KINDS, STREAM_KINDS
from state.transitions import FINISHED, LIVE, STARTABLE, STATUSES, TERMINAL

STATE = Path(__file__).parents[2] / "state"
FRAGMENTS = sorted((STATE / "sql" / "fragments").glob("*.sql"))
FILES = sorted(path for kind in ("sql", "functions", "views", "tables") for path in (STATE / kind).glob("*.sql"))
SOURCES = [path for folder in ("broker", "actors") for path in (STATE.parent / folder).rglob("*.py")]

INSERT = re.compile(
    r"INSERT INTO callboard\.events \([\w, ]+\)\s+SELECT\s+(.*?)(?=\bFROM\b|jsonb_build|'\{|\Z)", re.DOTALL
)
LOGGED = re.compile(r"callboard\.log_(?:workflow|project)\(\s*[\w.]+,\s*'(\w+)'")  # functions that insert events
LIST = re.compile(r"[(\[]\s*('\w+'(?:\s*,\s*'\w+')+)\s*[)\]]")
SETS = (STARTABLE, LIVE, FINISHED, TERMINAL)


def read_code(path: Path) -> str:
    return re.sub(r"--.*", "", path.read_text())


def find_kinds(text: str) -> set[str]:
    """The kinds of the events that this SQL inserts."""
    return {kind for insert in INSERT.finditer(text) for kind in re.findall(r"(?<!>) '(\w+)'", insert[1])}


def find_sets_by_hand(text: str) -> list[set[str]]:
    """Lists of statuses that are, or contain, a set of which there is a fragment."""
    found = [set(re.findall(r"\w+", each[1])) for each in LIST.finditer(text)]
    return [each for each in found if each <= set(STATUSES) and (each in SETS or each >= FINISHED or each <= FINISHED)]


def find_kinds_in_sql() -> set[str]:
    texts = [read_code(path) for path in (*FILES, *FRAGMENTS)]
    return {kind for text in texts for kind in (*find_kinds(text), *LOGGED.findall(text))}


def test_the_searches_find_what_they_look_for() -> None:
    by_hand = "INSERT INTO callboard.events (task_id, n, kind) SELECT m.id, e ->> 'key', 'status' FROM m"
    assert find_kinds(by_hand) == {"status"}
    lists = (
        "a IN ('completed',\n 'dead') OR b = ANY (ARRAY['dead', 'paused']) OR c IN ('waiting', 'queued', 'scheduled')"
    )
    assert find_sets_by_hand(lists) == [{"completed", "dead"}, {"waiting", "queued", "scheduled"}]


def test_no_file_writes_by_hand_what_a_fragment_says() -> None:
    for path in FILES:
        code = read_code(path)
        assert "status" not in find_kinds(code), f"{path}: use /*log_move*/"
        assert find_sets_by_hand(code) == [], f"{path}: use /*finished*/, /*terminal*/, /*live*/ or /*startable*/"
        assert not re.search(r"/\*\w+\*/", read_filled(path)), path


def test_every_fragment_is_used() -> None:
    used = {name for path in (*FILES, *FRAGMENTS) for name in re.findall(r"/\*(\w+)\*/", path.read_text())}
    assert {path.stem for path in FRAGMENTS} - used == set()


def test_event_kinds_are_those_that_are_written() -> None:
    """In SQL, by running tasks, and in streams."""
    emitted = {kind for path in SOURCES for kind in re.findall(r'(?:emit|add_event)\(\s*"(\w+)"', path.read_text())}
    reported = {kind for path in SOURCES for kind in re.findall(r'"kind": "(\w+)"', path.read_text())}
    assert find_kinds_in_sql() == {"status", "control", "payload", "step", "queue", "item"}
    assert find_kinds_in_sql() | emitted | reported | STREAM_KINDS == set(EVENT_KINDS) == set(KINDS)


def test_an_actor_cannot_emit_the_kinds_that_sql_writes() -> None:
    assert find_kinds_in_sql() | STREAM_KINDS < RESERVED_KINDS < set(KINDS)

"""Which files a database still needs, and in which steps they are applied."""

from collections.abc import Iterator
from dataclasses import dataclass

from state.schema.files import Kind, SchemaFile, schema_files

KINDS: tuple[Kind, ...] = ("tables", "migrations", "comments", "functions", "views")

Applied = dict[str, str]  # names of files, with the digest that each had when it was applied


@dataclass(frozen=True, slots=True)
class Step:
    """Files that are applied together, in one transaction."""

    files: tuple[SchemaFile, ...]
    included: tuple[SchemaFile, ...] = ()  # count as applied with the step, as its files have the same effect

    @property
    def name(self) -> str:
        return self.files[0].name

    @property
    def autocommit(self) -> bool:
        return self.files[0].autocommit

    @property
    def recorded(self) -> Applied:
        return {file.name: file.digest for file in (*self.files, *self.included)}


def plan(applied: Applied) -> Iterator[Step]:
    """Yields all steps that a database still needs."""
    for kind in KINDS:
        for step in plan_kind(kind, applied):
            applied = applied | step.recorded
            yield step


def plan_kind(kind: Kind, applied: Applied) -> list[Step]:
    due = tuple(file for file in schema_files(kind) if file.is_due(applied))
    match kind:
        case "tables":
            # Only for a new database. The tables are as all migrations leave them, with their comments.
            included = (*schema_files("migrations"), *schema_files("comments"))
            return [] if applied else [Step(due, included)]
        case "functions" if due:
            # Functions call each other, and triggers take over work from some of them: nobody may find some new and
            # some old. Triggers lock tables, so they come last.
            return [Step(tuple(sorted(due, key=lambda file: file.has_triggers)))]
        case _:
            return [Step((file,)) for file in due]

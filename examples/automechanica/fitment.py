"""FitmentAgent: finds out which vehicles a part fits."""

import re

from pydantic import BaseModel, Field

from broker import Context, agent

_VEHICLE = re.compile(
    r"(?P<make>[A-Z][\w-]+)\s+(?P<model>[\w-]+(?:\s(?!\d{4})[\w-]+)?)\s+"
    r"(?P<first>\d{4})(?:\s*(?:-|–|to)\s*(?P<last>\d{4})|(?P<on>\+))?"  # noqa: RUF001  (suppliers write both dashes)
    r"(?:\s+(?P<engine>\d\.\d)\s?[lL])?"
)
_LATEST_YEAR = 2030


class FitmentInput(BaseModel):
    sku: str = Field(min_length=1, max_length=100)
    text: str = Field(max_length=100_000, description='Such as "Toyota Corolla 2014-2018 1.8L; Honda Civic 2016+".')


class Fitment(BaseModel):
    make: str
    model: str
    first_year: int
    last_year: int
    engine_liters: float | None = None

    def fits(self, make: str, model: str, year: int) -> bool:
        same = (self.make.lower(), self.model.lower()) == (make.lower(), model.lower())
        return same and self.first_year <= year <= self.last_year


class Fitments(BaseModel):
    sku: str
    fitments: list[Fitment]
    not_understood: list[str] = Field(description="Parts of the text that a person has to read.")


@agent("FitmentAgent", "generate_fitment", priority="critical")
def generate_fitment(ctx: Context, request: FitmentInput) -> Fitments:
    """Reads a supplier's text, and lists the vehicles that a part fits."""
    fitments, not_understood = [], []
    parts = [part.strip() for part in re.split(r"[;\n]", request.text) if part.strip()]
    for number, part in enumerate(parts, start=1):
        ctx.progress(100 * number / len(parts), part[:100])
        found = _VEHICLE.fullmatch(part)
        if found is None:
            not_understood.append(part)
            continue
        first = int(found["first"])
        last = _LATEST_YEAR if found["on"] else int(found["last"] or first)
        fitments.append(
            Fitment(
                make=found["make"],
                model=found["model"],
                first_year=min(first, last),
                last_year=max(first, last),
                engine_liters=float(found["engine"]) if found["engine"] else None,
            )
        )
    return Fitments(sku=request.sku, fitments=fitments, not_understood=not_understood)

"""An actor whose payload has every feature of a schema that forms know, and some that they do not."""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, task

MARKUP = "<img src=x onerror=\"document.title='broken'\"><b>bold</b>"


class Point(BaseModel):
    x: int
    y: int = 0


class Place(BaseModel):
    street: str
    point: Point | None = None


class Circle(BaseModel):
    shape: Literal["circle"]
    radius: float


class Square(BaseModel):
    shape: Literal["square"]
    side: int


class EveryField(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=2, max_length=20, description=f"For people: {MARKUP}", title=f"Name {MARKUP}")
    story: str | None = Field(None, max_length=5000)
    count: int = Field(3, ge=1, le=10)
    large: int
    ratio: float | None = None
    loud: bool = False
    sure: bool | None = None
    color: Literal["red", "green"] = "red"
    day: date | None = None
    moment: datetime | None = None
    picture: Annotated[str, Field(json_schema_extra={"format": "base64"})] | None = None
    place: Place
    tags: list[str] = []
    points: list[Point] = Field(default=[], max_length=3)
    scores: dict[str, int] = {}
    figure: Circle | Square = Field(discriminator="shape")
    either: int | list[str] | None = None
    anything: Any = None
    pair: tuple[int, str] | None = None


@task(queue="forms")
def every_field(ctx: Context, request: EveryField) -> dict[str, Any]:
    """Answers with what it was given."""
    return request.model_dump(mode="json")

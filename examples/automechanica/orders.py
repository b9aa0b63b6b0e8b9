"""OrderValidationAgent: checks an order before it is packed."""

from decimal import Decimal

from pydantic import BaseModel, Field

from broker import Context, agent
from examples.automechanica.fitment import Fitment


class Vehicle(BaseModel):
    make: str
    model: str
    year: int


class Line(BaseModel):
    sku: str
    quantity: int
    unit_price: Decimal
    fitments: list[Fitment] = Field(default_factory=list, description="Empty: the part fits all vehicles.")


class OrderInput(BaseModel):
    order_id: str
    lines: list[Line] = Field(max_length=1000)
    total: Decimal
    vehicle: Vehicle | None = None


class OrderReport(BaseModel):
    order_id: str
    valid: bool
    total: Decimal = Field(description="The sum of the lines.")
    problems: list[str]


@agent("OrderValidationAgent", "validate_order", priority="critical")
def validate_order(ctx: Context, request: OrderInput) -> OrderReport:
    """Checks quantities, prices, the total, and whether the parts fit the customer's vehicle."""
    problems = [] if request.lines else ["The order has no lines."]
    for line in request.lines:
        problems += _find_problems(line, request.vehicle)
    total = sum((line.quantity * line.unit_price for line in request.lines), Decimal(0))
    if total != request.total:
        problems.append(f"The total is {request.total}, but the lines add up to {total}.")
    ctx.progress(100, f"{len(problems)} problems")
    return OrderReport(order_id=request.order_id, valid=not problems, total=total, problems=problems)


def _find_problems(line: Line, vehicle: Vehicle | None) -> list[str]:
    problems = []
    if line.quantity < 1:
        problems.append(f"{line.sku}: the quantity is {line.quantity}.")
    if line.unit_price <= 0:
        problems.append(f"{line.sku}: the price is {line.unit_price}.")
    if vehicle is not None and line.fitments:
        name = (vehicle.make, vehicle.model, vehicle.year)
        if not any(fitment.fits(*name) for fitment in line.fitments):
            problems.append(f"{line.sku} does not fit a {vehicle.make} {vehicle.model} of {vehicle.year}.")
    return problems

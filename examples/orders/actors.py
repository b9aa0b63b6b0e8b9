"""Writes the invoice of an order, and completes its task in the same transaction."""

from pydantic import BaseModel

from broker import Context, task


class Invoice(BaseModel):
    order: str


@task(queue="orders")
def write_invoice(ctx: Context, request: Invoice) -> None:
    """Marks the order as invoiced."""
    with ctx.transaction(result={"invoice": f"Invoice for {request.order}"}) as conn:
        conn.execute("UPDATE orders SET invoiced = true WHERE name = %s", [request.order])

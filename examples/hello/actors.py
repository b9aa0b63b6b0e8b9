"""An actor is a request, a function and a result."""

from pydantic import BaseModel

from broker import Context, task


class Greeting(BaseModel):
    name: str


class Greeted(BaseModel):
    text: str


@task(queue="hello")
def greet(ctx: Context, request: Greeting) -> Greeted:
    """Greets a person."""
    ctx.progress(50, f"Greeting {request.name}")
    return Greeted(text=f"Hello, {request.name}!")

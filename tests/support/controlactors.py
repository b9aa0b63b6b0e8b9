"""Actors that are stopped, fail, or end in odd ways."""

import asyncio
import logging
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2

from broker import CancelRequested, Context, TokenLimitExceeded, task
from broker.execution.storable import ResultNotJson
from providers.api import Api
from providers.blocking import wait_for
from state.tasks.catalog import RetryPolicy
from tests.support.testactors import NoteRequest, append


@task(queue="test", max_attempts=3)
def pages(ctx: Context, request: NoteRequest) -> Any:
    """Works page by page, saves each, and goes on where it was."""
    done = ctx.checkpoint.get("done", 0)
    append(request.file, f"start {ctx.epoch} at {done}")
    while done < request.value:
        time.sleep(request.seconds)
        done += 1
        ctx.save(done=done)
        append(request.file, f"page {done}")
    return done


@task(queue="test", max_attempts=3)
def swallow(ctx: Context, request: NoteRequest) -> str:
    """Busy, and nothing stops it but its own clock."""
    append(request.file, f"start {ctx.task_id} {ctx.epoch}")
    deadline = time.monotonic() + request.seconds
    while time.monotonic() < deadline:
        try:
            while time.monotonic() < deadline:
                sum(range(100))
        except BaseException as swallowed:
            append(request.file, f"swallowed {type(swallowed).__name__}")
    append(request.file, f"end {ctx.task_id} {ctx.epoch}")
    return "done"


@task(queue="test", max_attempts=3)
def stubborn_child(ctx: Context, request: NoteRequest) -> None:
    """Waits for a program that it has started, in one system call."""
    child = subprocess.Popen(["sleep", str(request.seconds)])
    append(request.file, f"child {child.pid}")
    os.waitid(os.P_PID, child.pid, os.WEXITED)


@task(queue="test", max_attempts=3)
async def async_cleanup(ctx: Context, request: NoteRequest) -> str:
    """Needs longer than a second to clean up."""
    append(request.file, f"start {ctx.epoch}")
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(request.seconds)
        append(request.file, "cleaned up")
    return "done"


@task(queue="test", max_attempts=3)
def withdraws(ctx: Context, request: NoteRequest) -> str:
    """As an actor of a provider does: when it is canceled, not when it is paused, it withdraws the job."""
    append(request.file, f"start {ctx.epoch}")
    try:
        time.sleep(0.05)
        while True:
            time.sleep(0.01)
    except CancelRequested:
        with ctx.shielded():
            if ctx.request in ("cancel", "force"):
                ctx.receipt("provider canceled", job="j1")
        raise


@task(queue="test", max_attempts=2, time_limit=0.3)
def limited(ctx: Context, request: NoteRequest) -> None:
    while True:
        time.sleep(0.01)


@task(queue="test", max_attempts=2, time_limit=0.3)
async def async_limited(ctx: Context, request: NoteRequest) -> None:
    await asyncio.sleep(60)


@task(queue="test", max_attempts=3)
def spends(ctx: Context, request: NoteRequest) -> int:
    """Uses tokens step by step; whether it cares for the limit, the request says."""
    for used in range(10, int(request.value) + 1, 10):
        try:
            ctx.use(tokens=10, cost=0.5)
        except TokenLimitExceeded:
            if request.text != "stubborn":
                raise
        append(request.file, str(used))
        time.sleep(request.seconds)
    return int(request.value)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even this")


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


ODD_RESULTS: dict[str, Any] = {
    "object": object(),
    "nan": float("nan"),
    "nul": {"text": "a\x00b"},
    "surrogate": "\ud800",
    "bytes": b"\xff\xfe",
    "circle": _circle(),
    "deep": [],
    "long number": 10**5000,
    "huge": "x" * (33 * 1024 * 1024),
}
for _ in range(100):
    ODD_RESULTS["deep"] = [ODD_RESULTS["deep"]]


@task(queue="test", max_attempts=3)
def odd_result(ctx: Context, request: NoteRequest) -> Any:
    return ODD_RESULTS[request.text]


def _odd_error(kind: str) -> BaseException:
    if kind == "nul":
        return RuntimeError("before\x00after \ud800")
    if kind == "huge":
        return RuntimeError("x" * 10_000_000)
    if kind == "unprintable":
        return Unprintable()
    if kind == "exit":
        return SystemExit(3)
    error = RuntimeError("odd details")
    error.details = {"when": time.gmtime(), "what": object(), "nul": "\x00", "nan": float("nan")}  # type: ignore[attr-defined]
    return error


@task(queue="test", max_attempts=1)
def odd_error(ctx: Context, request: NoteRequest) -> None:
    raise _odd_error(request.text)


@task(queue="test", max_attempts=3)
def calls(ctx: Context, request: NoteRequest) -> Any:
    """Asks a real server, through a provider's client or (text `plain`) with nothing of ours in between."""
    if request.text == "plain":
        return httpx2.get(request.value, timeout=2).raise_for_status().text
    return wait_for(Api("test service", request.value, timeout=2).get(""))


@task(queue="test", max_attempts=1)
def leaks(ctx: Context, request: NoteRequest) -> None:
    """Has a secret, and lets it out on every way there is."""
    secret = os.environ["TEST_API_KEY"]
    header = {"Authorization": f"Funny {secret[::-1]}", "x-license": secret[::-1]}
    ctx.log.info("a line", secret=secret, headers=header, url=f"https://me:{secret[::-1]}@example.com/")
    logging.getLogger("somebody").warning("elsewhere %s %s", secret, header)
    ctx.progress(5, f"with {secret} and password={secret[::-1]}")
    ctx.emit("token", {"text": secret, "headers": header, "api_key": secret[::-1]})
    ctx.receipt("provider canceled", api_key=secret[::-1], text=f"Bearer {secret[::-1]}1")
    if request.text == "provider":
        wait_for(Api("test service", request.value, headers=header, timeout=0.5).get(f"/?token={secret[::-1]}"))
    if request.text == "result":
        raise ResultNotJson(f"cannot keep {secret}")
    try:
        raise ConnectionError(f"cannot reach https://me:{secret[::-1]}@example.com/?api_key={secret[::-1]}")
    except ConnectionError as cause:
        error = RuntimeError(f"refused {secret}: {header!r}")
        error.details = {"headers": header, "body": f"invalid key {secret}"}  # type: ignore[attr-defined]
        raise error from cause


@task(queue="test", max_attempts=3)
def transacts(ctx: Context, request: NoteRequest) -> Any:
    """Writes a row of its own together with its completion; what goes wrong when, the request says."""
    ctx.emit("token", {"text": "before"})
    append(request.file, f"start {ctx.epoch}")
    first = ctx.epoch == 1
    with ctx.transaction() as conn:
        conn.execute("INSERT INTO own_rows (task_id, epoch) VALUES (%s, %s)", [ctx.task_id, ctx.epoch])
        if request.text == "kill" and first:
            os.kill(os.getpid(), 9)
        if request.text == "fail" and first:
            raise ConnectionError("inside")
        if request.text == "wait" and first:
            while not Path(str(request.file) + ".go").exists():
                time.sleep(0.01)
        if request.text == "spin":
            while True:
                time.sleep(0.01)
        ctx.result = object() if request.text == "odd" else {"rows": 1}
    if request.text == "late":
        raise RuntimeError("after the commit")
    if request.text == "lazy":
        time.sleep(request.seconds)
    return "ignored"


@task(queue="test", max_attempts=3)
def saves_then_dies(ctx: Context, request: NoteRequest) -> Any:
    """The promise of a checkpoint: what save has returned from is there, whatever happens next."""
    paid = ctx.checkpoint.get("paid", 0)
    if paid < request.value:
        ctx.save(paid=paid + 1)
        os.kill(os.getpid(), 9)
    return paid


@task(queue="test", max_attempts=3, policy=RetryPolicy(default=tuple(5.0 * n**2 for n in range(1, 21))))
def agent_like(ctx: Context, request: NoteRequest) -> None:
    raise RuntimeError("as agents fail")


@task(queue="test", max_attempts=2, time_limit=0.3)
def overdue(ctx: Context, request: NoteRequest) -> None:
    """Beyond its time limit, in one system call."""
    append(request.file, f"start {ctx.epoch}")
    time.sleep(request.seconds)


@task(queue="test", max_attempts=1)
async def async_sandbox(ctx: Context, request: NoteRequest) -> str:
    result = await asyncio.to_thread(ctx.sandbox, request.value)
    return result.output


@task(queue="test", max_attempts=3)
def greedy(ctx: Context, request: NoteRequest) -> bool:
    """Keeps the interpreter's lock in one call, so that no other thread of its process runs. Its second attempt says
    whether the process of the first one is still there."""
    if ctx.epoch == 1:
        append(request.file, str(os.getpid()))
        return sum(range(10**13)) > 0
    return Path(f"/proc/{Path(str(request.file)).read_text().strip()}").exists()

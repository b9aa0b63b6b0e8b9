"""A bare Starlette app that inserts and reads a row with async psycopg; uvicorn runs it with uvloop and httptools."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
    os.environ["BENCH_DATABASE_URL"],
    min_size=16,
    max_size=16,
    open=False,
    kwargs={"autocommit": True, "row_factory": dict_row},
)


async def create(request: Request) -> JSONResponse:
    body = await request.json()
    task_id = f"tq_{uuid4().hex}"
    async with pool.connection() as connection:
        await connection.execute(
            "insert into bare_tasks (id, actor, payload) values (%s, %s, %s)",
            [task_id, body["actor"], Jsonb(body["payload"])],
        )
    return JSONResponse({"task_id": task_id, "status": "queued"}, status_code=202)


async def read(request: Request) -> JSONResponse:
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "select id, actor, payload, status, created_at::text from bare_tasks where id = %s",
            [request.path_params["task_id"]],
        )
        row = await cursor.fetchone()
    return JSONResponse(row, status_code=200 if row else 404)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    await pool.open()
    async with pool.connection() as connection:
        await connection.execute(
            "create table if not exists bare_tasks (id text primary key, actor text not null, payload jsonb not null,"
            " status text not null default 'queued', created_at timestamptz not null default now())"
        )
    yield
    await pool.close()


app = Starlette(
    routes=[
        Route("/api/v1/tasks", create, methods=["POST"]),
        Route("/api/v1/tasks/{task_id}", read, methods=["GET"]),
    ],
    lifespan=lifespan,
)

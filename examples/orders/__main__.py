"""Takes two orders. Each order and the task that writes its invoice commit together, or not at all."""

import time

import psycopg

import actors  # noqa: F401  (sets the broker; must come before the actors of this package)
from examples.orders.actors import Invoice
from state import Task, get_task, list_tasks, submit
from state.database.pool import get_database


def take_order(conn: psycopg.Connection, name: str) -> Task:
    with conn.transaction():
        conn.execute("INSERT INTO orders (name) VALUES (%s)", [name])
        task = submit("write_invoice", Invoice(order=name), conn=conn)
        if not name.isprintable():
            raise ValueError("this order cannot be delivered")  # neither the order nor its task exists
        return task


def main() -> None:
    with psycopg.connect(get_database().url(), autocommit=True) as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS orders (name text PRIMARY KEY, invoiced boolean DEFAULT false)")
        task = take_order(conn, f"tea {time.time():.0f}")
        try:
            take_order(conn, "coffee\n")
        except ValueError as refused:
            print("Rolled back:", refused)
        while not get_task(task.task_id).finished:
            time.sleep(0.1)
        print(get_task(task.task_id).result)
        print(conn.execute("SELECT name, invoiced FROM orders").fetchall())
        print("Tasks:", len(list_tasks(actor="write_invoice")))


if __name__ == "__main__":
    main()

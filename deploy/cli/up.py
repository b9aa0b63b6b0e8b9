"""`callboard up`: everything on this machine, with one command."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from deploy.cli.service import Service
    from state.settings import Settings


def up(as_json: JsonOption = False) -> None:
    """Start everything on this machine; Ctrl-C ends it.

    Embedded Postgres (unless CALLBOARD_DATABASE_URL names another), its schema, workers and the HTTP server. What dies
    is started again. The logs are in CALLBOARD_DATA_DIR/logs; warnings and errors are shown here as well. With --json,
    one object is printed when all is ready, and problems go to stderr.

    It is configured by environment: CALLBOARD_DATA_DIR (.callboard), CALLBOARD_HOST (127.0.0.1), CALLBOARD_PORT (8000;
    0: any free one), CALLBOARD_PROCESSES (2), CALLBOARD_THREADS (8), CALLBOARD_GRACE_SECONDS (5: how long running
    tasks may finish after Ctrl-C; the others go on with the next start).

    \b
    Examples:
      callboard up
      CALLBOARD_PORT=8080 CALLBOARD_PROCESSES=4 callboard up
      CALLBOARD_DATABASE_URL=postgresql://localhost/callboard callboard up
      CALLBOARD_DEMO_PROVIDERS=1 callboard up
    """
    from deploy.cli.address import answers, free_port, url_of
    from deploy.cli.demo import demo_providers
    from deploy.cli.embedded import EmbeddedServer
    from deploy.cli.output import print_json_line
    from deploy.cli.reception import Reception
    from deploy.cli.store import open_store, read_settings
    from deploy.cli.supervisor import Supervisor, descendants
    from state.schema import migration
    from state.workers.registry import list_workers

    settings = read_settings()
    data_dir = settings.data_dir.resolve()
    port = free_port(settings.host, settings.port)
    url = url_of(settings.host, port)
    postgres = EmbeddedServer(data_dir) if settings.database_url is None else None
    reception = Reception(quiet=as_json)
    with demo_providers(settings.demo_providers):
        workers, http = _services(settings, data_dir, port)
        supervisor = Supervisor([workers, http], postgres, settings.grace_seconds, reception.report)
        supervisor.catch_signals()

        def ready() -> bool:
            registered = {worker["pid"] for worker in list_workers()}
            return bool(registered & descendants(workers.pid or 0)) and answers(settings.host, port, "/readyz")

        reception.starting(postgres.folder if postgres else None)
        with open_store(current_schema=False):
            reception.migrated(migration.migrate())
            try:
                supervisor.start(ready)
                if not supervisor.told_to_stop:
                    logs = workers.log.parent
                    if as_json:
                        print_json_line({"url": url, "logs": str(logs), "data_dir": str(data_dir)})
                    reception.welcome(url, settings, logs, _own_name())
                    supervisor.keep_running()
                reception.stopping()
            finally:
                supervisor.stop()
        reception.stopped(postgres is not None and postgres.alive)


def _services(settings: "Settings", data_dir: Path, port: int) -> "tuple[Service, Service]":
    from deploy.cli.logtail import rotated
    from deploy.cli.service import Service

    # Relative to where we were called from, not to where they run.
    environment = {**os.environ, "CALLBOARD_DATA_DIR": str(data_dir), "CALLBOARD_PORT": str(port)}
    logs = data_dir / "logs"
    workers = ["-m", "dramatiq", "actors", "--processes", str(settings.processes),
               "--threads", str(settings.threads)]  # fmt: skip
    http = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--host", settings.host,
            "--port", str(port), "--timeout-graceful-shutdown", "3"]  # fmt: skip
    return (
        Service("workers", workers, environment, rotated(logs / "workers.log")),
        Service("http", http, environment, rotated(logs / "http.log")),
    )


def _own_name() -> str:
    """How the person who reads this can call us."""
    called = Path(sys.argv[0])
    found = shutil.which("callboard")
    return "callboard" if found and Path(found).resolve() == called.resolve() else os.path.relpath(called)

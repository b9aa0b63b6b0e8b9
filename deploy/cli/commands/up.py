"""`callboard up`: starts everything on this machine with one command."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from deploy.cli.up.service import Service
    from state.settings import Settings

_AS_ROOT = "running as root: whoever breaks into a worker or the server has the whole machine. Use another user."
_ROLE = "CALLBOARD_DATABASE_ROLE"  # this process migrates, as the owner


def up(as_json: JsonOption = False) -> None:
    """Start everything on this machine; Ctrl-C stops it.

    Starts the embedded Postgres (unless CALLBOARD_DATABASE_URL names another one), migrates its schema, and starts
    workers and the HTTP server. Each of them is restarted if it dies. The logs are in CALLBOARD_DATA_DIR/logs; warnings
    and errors are also printed here. With --json, one object is printed when everything is ready, and problems go to
    stderr.

    Environment variables: CALLBOARD_DATA_DIR (.callboard), CALLBOARD_HOST (127.0.0.1), CALLBOARD_PORT (8000; 0 picks a
    free port), CALLBOARD_SERVERS (1), CALLBOARD_PROCESSES (2), CALLBOARD_THREADS (8), CALLBOARD_GRACE_SECONDS (5: the
    time that running tasks get to finish after Ctrl-C; the others continue at the next start).

    \b
    Examples:
      callboard up
      CALLBOARD_PORT=8080 CALLBOARD_PROCESSES=4 callboard up
      CALLBOARD_DATABASE_URL=postgresql://localhost/callboard callboard up
      CALLBOARD_DEMO_PROVIDERS=1 callboard up
    """
    from deploy.cli.exits import BAD_INPUT, Failure
    from deploy.cli.output import print_json_line
    from deploy.cli.store import open_store, read_settings
    from deploy.cli.up.address import find_free_port, find_own_host, format_url, responds_ok
    from deploy.cli.up.demo import run_demo_providers
    from deploy.cli.up.embedded import EmbeddedPostgres
    from deploy.cli.up.messages import Messages
    from deploy.cli.up.supervisor import Supervisor
    from providers.settings import list_wrong_variables
    from state.schema import migration
    from state.settings import SettingsError
    from state.workers.processes import hide_memory, list_descendants
    from state.workers.registry import list_workers

    settings = read_settings()
    if wrong := list_wrong_variables():  # workers and servers would end with the same text, again and again
        raise Failure(BAD_INPUT, str(SettingsError(wrong)))
    data_dir = settings.data_dir.resolve()
    port = find_free_port(settings.host, settings.port)
    own_host = find_own_host(settings.host)
    url = format_url(own_host, port)
    postgres = EmbeddedPostgres(data_dir) if settings.database_url is None else None
    messages = Messages(quiet=as_json)
    with run_demo_providers(settings.demo_providers):
        workers, http = _build_services(settings, data_dir, port)
        supervisor = Supervisor([workers, http], postgres, settings.grace_seconds, messages.print_problem)
        supervisor.catch_signals()
        hide_memory()

        def is_ready() -> bool:
            registered = {worker["pid"] for worker in list_workers()}
            started = registered.intersection(list_descendants(workers.pid or 0))
            return bool(started) and responds_ok(own_host, port, "/readyz")

        messages.print_starting(postgres.folder if postgres else None)
        if os.geteuid() == 0:
            messages.print_problem("up", "warning", _AS_ROOT)
        with open_store(current_schema=False):
            messages.print_migrated(migration.migrate())
            _require_key_for(settings.host)
            try:
                supervisor.start(is_ready)
                if not supervisor.stop_requested:
                    logs = workers.log.parent
                    if as_json:
                        print_json_line({"url": url, "logs": str(logs), "data_dir": str(data_dir)})
                    messages.print_ready(url, settings, logs, _find_own_name())
                    supervisor.keep_running()
                messages.print_stopping()
            finally:
                supervisor.stop()
        messages.print_stopped(postgres_runs=postgres is not None and postgres.alive)


def _require_key_for(host: str) -> None:
    """Without API keys the server would refuse everybody who comes from another machine. Says so before it starts."""
    from deploy.cli.exits import BAD_INPUT, Failure
    from deploy.cli.up.address import is_loopback
    from state.access.keys import read_keys

    if not is_loopback(host) and not read_keys().configured:
        raise Failure(
            BAD_INPUT,
            f"CALLBOARD_HOST={host}: without API keys the server answers only programs of its own machine. Create a "
            "key first (callboard keys create NAME --role operator), or leave CALLBOARD_HOST unset.",
        )


def _build_services(settings: "Settings", data_dir: Path, port: int) -> "tuple[Service, Service]":
    from deploy.cli.up.logtail import rotate
    from deploy.cli.up.service import Service

    # The absolute path: the services run in another working directory.
    environment = {**os.environ, "CALLBOARD_DATA_DIR": str(data_dir), "CALLBOARD_PORT": str(port)}
    logs = data_dir / "logs"
    workers = ["-m", "dramatiq", "actors", "--processes", str(settings.processes),
               "--threads", str(settings.threads)]  # fmt: skip
    http = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--host", settings.host,
            "--port", str(port), "--workers", str(settings.servers), "--timeout-worker-healthcheck", "30",
            "--timeout-graceful-shutdown", "3", "--no-proxy-headers", "--no-server-header",
            "--http", "taskapi.guard.connections:Connection"]  # fmt: skip
    return (
        Service("workers", workers, {**environment, _ROLE: "worker"}, rotate(logs / "workers.log")),
        Service("http", http, {**environment, _ROLE: "api"}, rotate(logs / "http.log")),
    )


def _find_own_name() -> str:
    """Returns the command with which the user can call `callboard` again."""
    called = Path(sys.argv[0])
    found = shutil.which("callboard")
    return "callboard" if found and Path(found).resolve() == called.resolve() else os.path.relpath(called)

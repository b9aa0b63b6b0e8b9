"""Serves the metrics of this process. Each worker process of a host takes the first free port from
CALLBOARD_METRICS_PORT on."""

import errno

from prometheus_client import start_http_server

from broker.metrics.measurements import REGISTRY
from state.logs import log
from state.settings import get_settings

_PORTS = 100  # that are tried: as many processes of one host can be seen


def serve_metrics(worker: str) -> None:
    """Starts the server in a thread of its own, if it is asked for. A worker without a port works all the same."""
    settings = get_settings()
    if settings.metrics_port is None:
        return
    for port in range(settings.metrics_port, settings.metrics_port + _PORTS):
        try:
            start_http_server(port, settings.metrics_host, REGISTRY)
        except OSError as refused:
            if refused.errno == errno.EADDRINUSE:
                continue
            log.error("no metrics", worker=worker, host=settings.metrics_host, port=port, error=str(refused))
            return
        log.info("metrics", worker=worker, host=settings.metrics_host, port=port)
        return
    log.error("no metrics: no port is free", worker=worker, first=settings.metrics_port, ports=_PORTS)

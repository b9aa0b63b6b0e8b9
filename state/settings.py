"""Configuration by environment, checked at start."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?")
_HOST_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+):[0-9]{1,5}")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="CALLBOARD_", env_ignore_empty=True, allow_inf_nan=False)

    database_url: str | None = Field(None, description="Postgres 15+; unset: the embedded server. May be a PgBouncer.")
    direct_url: str | None = Field(
        None,
        description="Postgres without a pooler, for LISTEN and claims (one connection a process) and migrations.",
    )
    database_role: Literal["owner", "api", "worker", "reader"] = Field(
        "owner", description="The role in the embedded Postgres; `callboard up` sets it for servers and workers."
    )
    data_dir: Path = Field(Path(".callboard"), description="Embedded database, contents, workspaces.")
    contents_url: str | None = Field(
        None, pattern="^s3://[^/]+(/.*)?$", description="s3://bucket/prefix for contents; unset: the data folder."
    )
    contents_endpoint: str | None = Field(
        None, pattern="^https?://", description="The S3-compatible service of CALLBOARD_CONTENTS_URL; unset: AWS."
    )
    contents_region: str | None = Field(None, description="Its region; unset: as boto3 finds it (AWS_REGION, …).")
    host: str = Field(
        "127.0.0.1", description="Where the HTTP server listens; other addresses than loopback need an API key."
    )
    port: int = Field(8000, ge=0, le=65535, description="The HTTP server's port; 0: any free one.")
    commands: bool = Field(
        False, description="Without API keys: whether actors and agents that run programs may be given work over HTTP."
    )
    cors_origins: Annotated[list[str], NoDecode] = Field(
        [], description="Origins whose pages may use the API, such as https://app.example.com, separated by commas."
    )
    streams_per_key: int = Field(100, ge=1, description="Most streams that a key may have open at one HTTP server.")
    max_connections: int = Field(1000, ge=1, description="Most connections that one HTTP server keeps open.")
    actors: Annotated[list[str], NoDecode] = Field(
        ["actors"], description="Modules that declare actors, separated by commas."
    )
    demo_providers: bool = Field(
        False, description="`callboard up` plays the remote providers on this machine, without keys."
    )
    servers: int = Field(
        1, ge=1, le=64, description="HTTP server processes that `callboard up` starts; they share the port."
    )
    processes: int = Field(2, ge=1, le=256, description="Worker processes that `callboard up` starts.")
    threads: int = Field(8, ge=1, le=1024, description="Threads of each worker process that `callboard up` starts.")
    coroutines: int = Field(
        100,
        ge=1,
        le=10_000,
        description="Tasks of async actors that each worker process runs at once, beside its threads.",
    )
    lease_seconds: float = Field(30, ge=1, description="How long a lease lasts without being renewed by its worker.")
    pulse_seconds: float = Field(2, gt=0, description="How often a worker renews its leases.")
    grace_seconds: float = Field(5, ge=0, description="How long running tasks may finish after SIGTERM.")
    retry_share: float = Field(0.3, ge=0, le=1, description="Share of starts that goes to the retry lane.")
    retry_share_warning: float = Field(0.2, ge=0, le=1, description="The same, when the retry lane is long.")
    retry_share_critical: float = Field(0.1, ge=0, le=1, description="The same, when it is very long.")
    retry_warning: int = Field(1000, ge=1, description="From how many tasks on the retry lane is long.")
    retry_critical: int = Field(5000, ge=1, description="Above how many tasks it is very long.")
    unknown_actor_seconds: float = Field(
        600, gt=0, description="How long a task waits for a worker that knows its actor; then it is dead."
    )
    max_attempts: int = Field(4, ge=1, le=1000, description="Attempts of a task whose actor does not say how many.")
    breaker_threshold: float = Field(0.5, gt=0, le=1, description="Share of failures that opens a circuit breaker.")
    breaker_volume: int = Field(10, ge=1, description="Fewest results that a circuit breaker is judged by.")
    breaker_window: float = Field(60, gt=0, description="Seconds that a result counts for a circuit breaker.")
    breaker_seconds: float = Field(60, gt=0, description="Seconds that a circuit breaker stays open before a probe.")
    max_task_age: float = Field(3600, gt=0, description="Seconds until a summarization that has not ended is given up.")
    token_limit: int | None = Field(None, ge=1, description="Most tokens that a task may use over all its attempts.")
    sandbox: Literal["auto", "isolated", "process", "bubblewrap", "docker", "podman"] = Field(
        "auto",
        description="The kind of sandbox for commands: auto takes the best there is, isolated refuses to run without "
        "bubblewrap, docker or podman.",
    )
    sandbox_image: str | None = Field(None, description="The image for docker and podman; unset: they are not used.")
    sandbox_folders: Annotated[list[str], NoDecode] = Field(
        [], description="More folders that isolated commands can read, such as that of a Python, separated by commas."
    )
    secret_names: Annotated[list[str], NoDecode] = Field(
        [], description="More names of fields, headers and variables whose values are masked, separated by commas."
    )
    webhook_hosts: Annotated[list[str], NoDecode] = Field(
        [],
        description="Receivers of webhooks (host:port, …) that may have private addresses and use plain http.",
    )
    webhook_seconds: float = Field(15, gt=0, le=60, description="How long a receiver of webhooks may take to answer.")
    max_body_bytes: int = Field(4 * 1024 * 1024, ge=1024, description="Largest request body.")
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65435,
        description="Where a worker process serves its metrics for Prometheus: the first free port from this one on.",
    )
    metrics_host: str = Field("127.0.0.1", description="The address at which worker processes serve their metrics.")
    tracing: bool = Field(
        False, description="Sends traces by OpenTelemetry; OTEL_EXPORTER_OTLP_ENDPOINT and its kin say where to."
    )
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="debug, info, warning or error.")

    @field_validator("actors", "cors_origins", "sandbox_folders", "secret_names", "webhook_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value

    @field_validator("sandbox_folders")
    @classmethod
    def _require_whole_paths(cls, value: list[str]) -> list[str]:
        for folder in value:
            if not Path(folder).is_absolute():
                raise ValueError(f"{folder!r} must be an absolute path, such as /opt/python")
        return value

    @field_validator("webhook_hosts")
    @classmethod
    def _require_ports(cls, value: list[str]) -> list[str]:
        """A host without a port would open every service of that machine to submitters."""
        for host in value:
            if not _HOST_AND_PORT.fullmatch(host.lower()):
                raise ValueError(f"{host!r} must be a host and a port, such as hooks.internal:8443")
        return [host.lower() for host in value]

    @field_validator("contents_url")
    @classmethod
    def _s3_needs_its_client(cls, value: str | None) -> str | None:
        if value is not None and find_spec("boto3") is None:
            raise ValueError("needs boto3: install callboard[s3]")
        return value

    @field_validator("tracing")
    @classmethod
    def _tracing_needs_opentelemetry(cls, value: bool) -> bool:
        if value and find_spec("opentelemetry.exporter") is None:
            raise ValueError("needs OpenTelemetry: install callboard[otel]")
        return value

    @field_validator("pulse_seconds")
    @classmethod
    def _pulse_within_lease(cls, value: float, info: object) -> float:
        lease = getattr(info, "data", {}).get("lease_seconds", 30)
        if value * 3 > lease:
            raise ValueError(
                f"must be at most a third of CALLBOARD_LEASE_SECONDS ({lease:g}), or leases end by accident"
            )
        return value

    @field_validator("cors_origins")
    @classmethod
    def _require_origins(cls, value: list[str]) -> list[str]:
        """An origin is compared as a whole with what the browser sends, so a path or a slash would never match."""
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} must be a scheme and a host, and a port if it is not the usual one")
        return value


class SettingsError(SystemExit):
    """Wrong configuration ends the program with a text that says what to set: a line for each variable."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n  ".join(["Callboard cannot start with this configuration:", *lines]))


@cache
def get_settings() -> Settings:
    try:
        return Settings()
    except ValidationError as refused:
        raise SettingsError([f"CALLBOARD_{str(e['loc'][0]).upper()}: {e['msg']}" for e in refused.errors()]) from None

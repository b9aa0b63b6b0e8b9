"""Settings of the remote providers, read from the environment when they are used."""

import os
from functools import lru_cache
from typing import TypeVar, cast

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


def _make_config(prefix: str) -> SettingsConfigDict:
    # An empty variable counts as missing, because compose files and shells pass on missing ones as empty.
    return SettingsConfigDict(env_prefix=prefix, env_ignore_empty=True, extra="ignore", allow_inf_nan=False)


class LeonardoSettings(BaseSettings):
    model_config = _make_config("LEONARDO_")

    api_key: SecretStr | None = None
    base_url: str = "https://cloud.leonardo.ai/api/rest/v1"
    timeout: float = Field(30.0, gt=0)


class MidjourneySettings(BaseSettings):
    """A self-hosted midjourney-proxy: its URL with the context path (usually /mj), and its secret if it has one."""

    model_config = _make_config("MIDJOURNEY_")

    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: float = Field(30.0, gt=0)


class OpenRouterSettings(BaseSettings):
    """An OpenAI-compatible service, by default OpenRouter."""

    model_config = _make_config("OPENROUTER_")

    api_key: SecretStr | None = None
    base_url: str = "https://openrouter.ai/api/v1"
    model: str = "mistralai/mistral-small-3.2-24b-instruct"
    embedding_model: str = "openai/text-embedding-3-small"
    timeout: float = Field(30.0, gt=0)


class DownloadSettings(BaseSettings):
    model_config = _make_config("CALLBOARD_DOWNLOAD_")

    trusted_hosts: str = ""
    """Hosts with their ports (minio:9000), separated by commas, that may use plain http and private addresses. They
    are trusted when a provider names them, and neither in URLs of submitters nor after a redirect."""
    max_bytes: int = Field(100 * 1024 * 1024, gt=0)
    max_seconds: float = Field(120.0, gt=0)

    @field_validator("trusted_hosts")
    @classmethod
    def _require_ports(cls, value: str) -> str:
        for host in filter(None, map(str.strip, value.split(","))):
            name, _, port = host.rpartition(":")
            if not (name and port.isdecimal()):
                raise ValueError(f"{host!r} needs a port, such as {host}:443")
        return value

    @property
    def trusted(self) -> frozenset[str]:
        return frozenset(host.strip().lower() for host in self.trusted_hosts.split(",") if host.strip())


_S = TypeVar("_S", bound=BaseSettings)


def read(kind: type[_S]) -> _S:
    """Returns the settings as the environment has them now. They are made anew only if it has changed: that takes most
    of a millisecond, and each submit asks which providers have a key."""
    names = (f"{kind.model_config['env_prefix']}{field}".upper() for field in kind.model_fields)
    return cast("_S", _make(kind, tuple(map(os.environ.get, names))))


@lru_cache(maxsize=32)
def _make(kind: type[BaseSettings], _environment: tuple[str | None, ...]) -> BaseSettings:
    return kind()


def list_wrong_variables() -> list[str]:
    """Returns a line for each variable that cannot be used. Every process asks when it starts."""
    lines: list[str] = []
    for settings in (LeonardoSettings, MidjourneySettings, OpenRouterSettings, DownloadSettings):
        try:
            settings()
        except ValidationError as refused:
            prefix = settings.model_config["env_prefix"]
            lines += [f"{prefix}{str(error['loc'][0]).upper()}: {error['msg']}" for error in refused.errors()]
    return lines

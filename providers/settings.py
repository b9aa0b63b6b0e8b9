"""What the remote providers need from the environment; read when used, so that no import fails."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def _config(prefix: str) -> SettingsConfigDict:
    # An empty variable is a missing one: compose files and shells like to pass them on like that.
    return SettingsConfigDict(env_prefix=prefix, env_ignore_empty=True, extra="ignore")


class LeonardoSettings(BaseSettings):
    model_config = _config("LEONARDO_")

    api_key: SecretStr | None = None
    base_url: str = "https://cloud.leonardo.ai/api/rest/v1"
    timeout: float = Field(30.0, gt=0)


class MidjourneySettings(BaseSettings):
    """A midjourney-proxy that somebody runs: its URL with context path (usually /mj), its secret if any."""

    model_config = _config("MIDJOURNEY_")

    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: float = Field(30.0, gt=0)


class OpenRouterSettings(BaseSettings):
    """Any OpenAI-compatible service; OpenRouter unless the base URL says otherwise."""

    model_config = _config("OPENROUTER_")

    api_key: SecretStr | None = None
    base_url: str = "https://openrouter.ai/api/v1"
    model: str = "mistralai/mistral-small-3.2-24b-instruct"
    embedding_model: str = "openai/text-embedding-3-small"
    timeout: float = Field(30.0, gt=0)


class DownloadSettings(BaseSettings):
    model_config = _config("CALLBOARD_DOWNLOAD_")

    trusted_hosts: str = ""
    """Hosts (or host:port), by commas, that may be fetched by plain http and at private addresses."""
    max_bytes: int = Field(100 * 1024 * 1024, gt=0)
    max_seconds: float = Field(120.0, gt=0)

    @property
    def trusted(self) -> frozenset[str]:
        return frozenset(host.strip().lower() for host in self.trusted_hosts.split(",") if host.strip())

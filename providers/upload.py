"""Uploads to a URL that a provider has named: checked like those of downloads."""

from typing import Any

import httpx2

from providers.deadline import limit_time
from providers.errors import make_error_from_exception, make_error_from_response
from providers.guarded import ConnectionPolicy, open_guarded
from providers.settings import DownloadSettings, read


async def upload(url: str, service: str, seconds: float, **body: Any) -> None:
    """Sends the body, made by httpx2, with POST. Follows no redirects."""
    policy = ConnectionPolicy(read(DownloadSettings).trusted, seconds)
    try:
        async with (
            limit_time(seconds),
            open_guarded("POST", httpx2.URL(url), policy, headers={}, **body) as response,
        ):
            if not response.is_success:
                raise await make_error_from_response(response, service)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise make_error_from_exception(error, service) from error

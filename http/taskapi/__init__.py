"""Tasks over HTTP. An endpoint is: parse, one state verb, serialize."""

from taskapi.app import create_app

__all__ = ["create_app"]

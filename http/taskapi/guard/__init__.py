"""What happens to every request before its operation sees it, and to every answer. Each module is a middleware; their
order is in `taskapi.app`. `connections` is the exception: it belongs to uvicorn's side of the socket."""

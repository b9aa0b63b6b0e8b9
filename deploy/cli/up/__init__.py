"""Parts of `callboard up`, which starts Postgres, workers and the HTTP server, and keeps them running."""

"""What `callboard up` needs: it starts Postgres, workers and the HTTP server, and keeps them running."""

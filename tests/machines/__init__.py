"""Many machines: cut links, hidden processes, a second Postgres that takes over."""

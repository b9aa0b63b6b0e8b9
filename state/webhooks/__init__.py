"""Webhooks: moves of a task are reported to a URL that its submitter has given."""

DELETE FROM callboard.idempotency WHERE created_at < callboard.now() - interval '24 hours'

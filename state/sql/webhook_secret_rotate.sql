SELECT FROM callboard.rotate_webhook_secret(%(tenant)s, %(secret)s, %(overlap)s::double precision)

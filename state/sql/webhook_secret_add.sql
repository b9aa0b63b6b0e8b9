SELECT FROM callboard.add_webhook_secret(%(tenant)s, %(secret)s)

SELECT EXISTS (SELECT FROM callboard.api_keys) AS configured

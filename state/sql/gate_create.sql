INSERT INTO callboard.gates (key) VALUES (%(key)s) ON CONFLICT (key) DO NOTHING

-- Runs before anything is changed: from now on, releases that will not work on the new schema are refused.
UPDATE callboard.schema_version SET supports = %(supports)s, changed_at = now() WHERE supports < %(supports)s

-- Before anything changes: releases that will not work on the new schema are turned away from now on.
UPDATE callboard.schema_version SET supports = %(supports)s, changed_at = now() WHERE supports < %(supports)s

-- Whether the rights of the roles have to be applied: they have changed, or something was applied after them.
SELECT NOT EXISTS (
    SELECT FROM callboard.applied_files g
    WHERE g.name = %(name)s AND g.digest = %(digest)s
      AND g.applied_at >= (SELECT max(f.applied_at) FROM callboard.applied_files f)
) AS due

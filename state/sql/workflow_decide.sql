SELECT d.kind, d.status, d.decided
FROM callboard.decide_step(%(id)s, %(step)s, %(decision)s, %(by)s, %(note)s) AS d

SELECT d.kind, d.status, d.decided
FROM callboard.decide_step((SELECT w.id FROM callboard.workflows w WHERE w.id = %(id)s AND (/*in_scope*/ w.tenant)),
                           %(step)s, %(decision)s, %(by)s, %(note)s) AS d

SELECT r.status, r.resumed, r.steps
FROM callboard.resume_workflow((SELECT w.id FROM callboard.workflows w WHERE w.id = %(id)s AND (/*in_scope*/ w.tenant)),
                               %(by)s) AS r

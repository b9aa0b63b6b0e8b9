SELECT r.status, r.resumed, r.steps FROM callboard.resume_workflow(%(id)s) AS r

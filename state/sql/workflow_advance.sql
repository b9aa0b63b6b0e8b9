SELECT callboard.try_advance_workflow(%(id)s) AS changed

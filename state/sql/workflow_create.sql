SELECT callboard.create_workflow(%(definition)s::jsonb)

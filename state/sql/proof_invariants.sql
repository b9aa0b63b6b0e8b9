SELECT i.invariant, i.task_id, i.gate FROM admin.invariants i

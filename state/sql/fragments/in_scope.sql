-- In the WHERE of a query: whether a row exists for the caller. The statement goes on with the column of the row's tenant:
-- `AND (/*in_scope*/ t.tenant)`. A caller without a tenant sees all rows; the planner then drops the condition.
%(scope)s::text IS NULL OR %(scope)s =

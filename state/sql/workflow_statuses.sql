SELECT w.id, w.status, w.tenant FROM callboard.workflows w WHERE w.id = ANY (%(ids)s) AND (/*in_scope*/ w.tenant)

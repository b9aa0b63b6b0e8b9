SELECT w.id, w.status, w.tenant FROM callboard.workflows w WHERE w.id = ANY (%(ids)s)

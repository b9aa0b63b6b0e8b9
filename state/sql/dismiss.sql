SELECT /*move_result*/ FROM callboard.dismiss(ARRAY(
    SELECT t.id FROM callboard.tasks t WHERE t.id = ANY (%(ids)s) AND (/*in_scope*/ t.tenant)
), %(by)s) AS m

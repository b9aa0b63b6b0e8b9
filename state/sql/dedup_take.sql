SELECT d.id, d.holder, d.known FROM callboard.take_dedup_keys(%(asked)s) AS d

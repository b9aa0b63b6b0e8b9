SELECT /*key_columns*/
FROM callboard.api_keys k
WHERE k.id = %(id)s

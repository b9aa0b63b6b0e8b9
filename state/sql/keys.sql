SELECT /*key_columns*/
FROM callboard.api_keys k
WHERE (%(before)s::text IS NULL OR k.id < %(before)s)
ORDER BY k.id DESC
LIMIT %(limit)s

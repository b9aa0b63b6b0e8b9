-- Tasks in a status that somebody may stop: not those that Callboard makes itself.
SELECT t.id FROM callboard.tasks t
WHERE t.status = %(status)s AND t.actor NOT IN ('webhook', 'embedding') ORDER BY t.id

-- Whether this database has pgvector, and if not, whether the server does.
SELECT x.extversion AS version,
       x.extversion IS NULL AND EXISTS (SELECT FROM pg_available_extensions a WHERE a.name = 'vector') AS available
FROM (SELECT 1) AS one LEFT JOIN pg_extension x ON x.extname = 'vector'

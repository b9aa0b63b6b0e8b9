-- A view that a migration has dropped counts as not applied.
SELECT f.name, f.digest
FROM callboard.applied_files f
WHERE NOT starts_with(f.name, 'views/') OR to_regclass('admin.' || substr(f.name, 7)) IS NOT NULL

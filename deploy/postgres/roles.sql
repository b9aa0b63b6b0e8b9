-- Once, as an administrator of the server (psql): the logins of Callboard, and its database. The passwords come from the
-- environment. docs/security.md says what each role may.
\set ON_ERROR_STOP on
\getenv owner CALLBOARD_OWNER_PASSWORD
\getenv api CALLBOARD_API_PASSWORD
\getenv worker CALLBOARD_WORKER_PASSWORD
\getenv reader CALLBOARD_READER_PASSWORD
CREATE ROLE callboard_owner LOGIN PASSWORD :'owner';
CREATE ROLE callboard_api LOGIN PASSWORD :'api';
CREATE ROLE callboard_worker LOGIN PASSWORD :'worker';
CREATE ROLE callboard_reader LOGIN PASSWORD :'reader';
CREATE DATABASE callboard OWNER callboard_owner;
REVOKE CONNECT, TEMPORARY ON DATABASE callboard FROM PUBLIC;
GRANT CONNECT ON DATABASE callboard TO callboard_api, callboard_worker, callboard_reader;
\connect callboard
SELECT 'CREATE EXTENSION vector' WHERE EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')
\gexec

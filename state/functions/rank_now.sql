-- The order among tasks of the same queue, lane and priority: microseconds on the database's clock.
CREATE OR REPLACE FUNCTION callboard.rank_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT (extract(epoch FROM callboard.now()) * 1000000)::bigint';

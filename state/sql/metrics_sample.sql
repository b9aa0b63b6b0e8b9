-- Says which minute it is, whether there are minutes to measure, and how old the last pulses of the workers are that
-- have not stopped.
SELECT n.minute, p.measured_until <> n.minute AS due, w.heartbeats, w.delay_sum, w.delay_max
FROM (SELECT date_trunc('minute', callboard.now()) AS minute) AS n, callboard.metrics_progress p, (
    SELECT count(*) AS heartbeats, coalesce(sum(a.delay), 0) AS delay_sum, coalesce(max(a.delay), 0) AS delay_max
    FROM (SELECT greatest(0, extract(epoch FROM callboard.now() - seen_at))::double precision AS delay
          FROM callboard.workers WHERE stopped_at IS NULL) AS a
) AS w

-- Measures the next part of the time that is over, at most so many seconds: counts from events what happened in it, and
-- writes it to task_queue_metrics; a day that is over is added up as well. Returns the part, or no row if there is nothing
-- to do or another session does it. Whole minutes, except where a minute is too much for so many seconds.
--
-- A transaction that commits late has written into minutes that are measured already. So each minute is looked at twice:
-- when it is over, and when every transaction that was open then has ended. Events are only added: if a minute has as many
-- moves as before, nothing has changed.
CREATE OR REPLACE FUNCTION callboard.measure_tasks(most_seconds integer) RETURNS TABLE (
    measured_from timestamptz, measured_to timestamptz
) LANGUAGE plpgsql
-- Moves are found by their time and tasks by their id, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET timezone = 'UTC'
AS $$
DECLARE
    progress callboard.metrics_progress;
    this_minute constant timestamptz := date_trunc('minute', callboard.now());
    -- A statement's time is that of its start. It gets its transaction id later, but within its timeout of 30 s.
    settled constant timestamptz := this_minute - interval '2 minutes';
    begins timestamptz;
    ends timestamptz;
    changed timestamptz;
BEGIN
    SELECT * INTO progress FROM callboard.metrics_progress FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF progress.measured_until > this_minute THEN
        -- The clock was stepped back, a moment ago: minutes that are measured come again. After a step of days, rows of
        -- this day may have been removed as too old.
        progress.measured_until := CASE
            WHEN progress.measured_until > this_minute + interval '1 day'
                 THEN date_trunc('day', this_minute - interval '10 minutes')
            ELSE this_minute - interval '10 minutes' END;
        progress.final_until := least(progress.final_until, progress.measured_until);
        progress.recheck_xid := NULL;
    END IF;
    IF progress.measured_until < this_minute THEN
        begins := progress.measured_until;
        ends := begins + make_interval(secs => most_seconds);
        ends := least(greatest(date_trunc('minute', ends), CASE WHEN most_seconds < 60 THEN ends END), this_minute);
        progress.measured_until := ends;
        PERFORM callboard.count_moves(begins, ends);
    ELSIF progress.recheck_xid IS NULL AND progress.final_until < settled THEN
        progress.recheck_until := settled;
        progress.recheck_xid := pg_snapshot_xmax(pg_current_snapshot());
    ELSIF progress.recheck_xid <= pg_snapshot_xmin(pg_current_snapshot())
          OR progress.recheck_xid > pg_snapshot_xmax(pg_current_snapshot()) THEN  -- restored into another server
        begins := progress.final_until;
        ends := least(begins + make_interval(mins => greatest(most_seconds / 60, 1)), progress.recheck_until);
        progress.final_until := ends;
        IF ends = progress.recheck_until THEN
            progress.recheck_xid := NULL;
        END IF;
        FOR changed IN
            SELECT c.minute
            FROM (SELECT date_trunc('minute', e.at) AS minute, count(*) AS moves FROM callboard.events e
                  WHERE e.kind = 'status' AND e.at >= begins AND e.at < ends
                  GROUP BY 1) AS c
            WHERE c.moves IS DISTINCT FROM (
                SELECT q.moves FROM callboard.task_queue_metrics q
                WHERE q.minute = c.minute AND q.actor = '' AND q.agent_name = '' AND q.task_type = '')
        LOOP
            PERFORM callboard.count_moves(changed, changed + interval '1 minute');
        END LOOP;
    ELSE
        RETURN;
    END IF;
    UPDATE callboard.metrics_progress
    SET measured_until = progress.measured_until, final_until = progress.final_until,
        recheck_until = progress.recheck_until, recheck_xid = progress.recheck_xid;
    IF begins IS NOT NULL THEN
        PERFORM callboard.add_up_days(date_trunc('day', begins)::date,
                                      least(date_trunc('day', ends - interval '1 microsecond') + interval '1 day',
                                            date_trunc('day', progress.measured_until))::date);
        RETURN QUERY SELECT begins, ends;
    END IF;
END $$;

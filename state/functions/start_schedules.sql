-- Does what was planned for schedules that are due: records each tick, inserts its task, and moves next_at on, in one
-- transaction for all, under the locks of their rows. A schedule that somebody else has locked, or that has changed since it
-- was read, is left alone: its revision is another one.
-- planned: [{id, revision, next_at (NULL: it is paused, because its next tick cannot be computed), ticks: [{tick, task_id,
-- start_at, missed, skip, error}]}]; skip and error say why a tick starts nothing.
CREATE OR REPLACE FUNCTION callboard.start_schedules(planned jsonb)
RETURNS TABLE (run callboard.schedule_runs, task_status text) LANGUAGE plpgsql AS $$
DECLARE
    p record;
    each record;
    s callboard.schedules;
    made callboard.schedule_runs;
BEGIN
    FOR p IN
        SELECT i.* FROM jsonb_to_recordset(planned) AS i (id text, revision integer, next_at timestamptz, ticks jsonb)
        ORDER BY i.id COLLATE "C"
    LOOP
        SELECT * INTO s FROM callboard.schedules c
        WHERE c.id = p.id AND c.revision = p.revision AND c.next_at <= callboard.now()
        FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        FOR each IN
            SELECT i.* FROM jsonb_to_recordset(p.ticks) AS i (
                tick timestamptz, task_id text, start_at timestamptz, missed integer, skip text, error text)
            ORDER BY i.tick
        LOOP
            s.last_tick := greatest(s.last_tick, each.tick);
            made.schedule_id := s.id;
            made.n := s.last_run + 1;
            made.tick := each.tick;
            made.task_id := each.task_id;
            made.missed := each.missed;
            made.outcome := CASE WHEN each.error IS NOT NULL THEN 'failed' WHEN each.skip IS NOT NULL THEN 'skipped' END;
            made.reason := coalesce(each.error, each.skip);
            made := callboard.insert_schedule_run(s, made, each.start_at);
            CONTINUE WHEN made.n IS NULL;  -- this tick has a row
            s.last_run := made.n;
            s.last_task := coalesce(made.task_id, s.last_task);
            s.last_error := CASE made.outcome WHEN 'started' THEN NULL WHEN 'failed' THEN made.reason ELSE s.last_error END;
            run := made;
            task_status := (SELECT t.status FROM callboard.tasks t WHERE t.id = made.task_id);
            RETURN NEXT;
        END LOOP;
        UPDATE callboard.schedules c
        SET next_at = p.next_at, paused = p.next_at IS NULL, last_tick = s.last_tick, last_run = s.last_run,
            last_task = s.last_task, last_error = s.last_error, revision = c.revision + 1
        WHERE c.id = s.id;
    END LOOP;
END $$;

-- Starts a schedule at once, also one that is paused. The task's id comes from the caller: a repetition after a lost
-- connection finds the run of the first try. Returns no row if there is no such schedule in the caller's scope.
CREATE OR REPLACE FUNCTION callboard.start_schedule_now(its_id text, its_task text, scope text, asks text)
RETURNS TABLE (run callboard.schedule_runs, task_status text) LANGUAGE plpgsql AS $$
DECLARE
    s callboard.schedules;
    made callboard.schedule_runs;
BEGIN
    SELECT * INTO s FROM callboard.schedules c
    WHERE c.id = its_id AND c.deleted_at IS NULL AND (scope IS NULL OR c.tenant = scope) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO made FROM callboard.schedule_runs r WHERE r.task_id = its_task;
    IF NOT FOUND THEN
        made.schedule_id := s.id;
        made.n := s.last_run + 1;
        made.task_id := its_task;
        made.missed := 0;
        made.asked_by := asks;
        made := callboard.insert_schedule_run(s, made, callboard.now());
        UPDATE callboard.schedules c
        SET last_run = made.n, last_task = coalesce(made.task_id, c.last_task),
            last_error = CASE made.outcome WHEN 'started' THEN NULL WHEN 'failed' THEN made.reason ELSE c.last_error END
        WHERE c.id = s.id;
    END IF;
    run := made;
    task_status := (SELECT t.status FROM callboard.tasks t WHERE t.id = made.task_id);
    RETURN NEXT;
END $$;

-- Inserts a run, and its task unless there is a reason not to: `made` has an outcome already, or the last task has not
-- ended. A task that cannot be stored makes it a failed run. Returns the run; n is NULL if its tick has one. The caller has
-- locked the schedule.
CREATE OR REPLACE FUNCTION callboard.insert_schedule_run(
    s callboard.schedules, made callboard.schedule_runs, start_at timestamptz
) RETURNS callboard.schedule_runs LANGUAGE plpgsql AS $$
DECLARE
    t callboard.tasks;
    busy text;
BEGIN
    IF made.outcome IS NULL AND s.overlap = 'skip' THEN
        SELECT l.id INTO busy FROM callboard.tasks l WHERE l.id = s.last_task AND l.status NOT IN (/*finished*/);
        IF busy IS NOT NULL THEN
            made.outcome := 'skipped';
            made.reason := 'task ' || busy || ' has not ended';
        END IF;
    END IF;
    made.outcome := coalesce(made.outcome, 'started');
    made.created_at := callboard.now();
    IF made.outcome = 'started' THEN
        t.id := made.task_id;
        t.actor := s.actor;
        t.queue := s.queue;
        t.priority := s.priority;
        t.tenant := s.tenant;
        t.target := s.target;
        t.payload := s.payload;
        t.max_attempts := s.max_attempts;
        t.max_age := s.max_age;
        t.available_at := greatest(start_at, callboard.now());
        t.gates := s.gates;
        t.gate_limits := s.gate_limits;
        BEGIN
            INSERT INTO callboard.schedule_runs SELECT made.* ON CONFLICT ON CONSTRAINT schedule_runs_tick DO NOTHING;
            IF NOT FOUND THEN
                RETURN NULL;
            END IF;
            PERFORM callboard.insert_task(t, jsonb_strip_nulls(jsonb_build_object('schedule_id', s.id, 'tick', made.tick)));
            RETURN made;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
            made.outcome := 'failed';
            made.reason := SQLERRM;
        END;
    END IF;
    made.task_id := NULL;
    INSERT INTO callboard.schedule_runs SELECT made.* ON CONFLICT ON CONSTRAINT schedule_runs_tick DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN made;
END $$;

-- Queues the delivery of an event of a task to its webhook, and returns the id of the task that delivers it. The payload
-- holds ids only: the task reads the event, the URL and the secret when it runs (actors/webhook.py, which declares the same
-- queue, limits and age). A receiver has a gate of its own for each tenant: one that is slow or down delays no other, and
-- a tenant cannot open the breaker of another one's receiver. A further gate limits all deliveries of a tenant: who names
-- a new host or port for each task would hold all threads of the cluster otherwise. The order of arrival is not kept: an
-- event that cannot be delivered must not hold up later ones, and each carries its number.
CREATE OR REPLACE FUNCTION callboard.queue_webhook(t callboard.tasks, event integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    job callboard.tasks;
    owner text := replace(replace(coalesce(t.tenant, ''), '%', '%25'), '/', '%2F');
    gate text := 'webhook:' || owner || '/' || coalesce(substring(t.webhook_url FROM '^https?://([^/?#]+)'), '');
BEGIN
    job.id := callboard.new_id('tq_');
    job.actor := 'webhook';
    job.queue := 'webhooks';
    job.priority := 1;
    job.tenant := t.tenant;
    job.payload := jsonb_build_object('task_id', t.id, 'n', event, 'gate', gate);
    job.max_attempts := 10;
    job.max_age := 4 * 86400;
    job.gates := ARRAY[gate, 'webhooks:' || owner];
    job.gate_limits := ARRAY[2, 8];
    PERFORM callboard.insert_task(job);
    INSERT INTO callboard.webhook_deliveries (delivery_id, task_id, n) VALUES (job.id, t.id, event);
    RETURN job.id;
END $$;

-- In the transaction of the move, whichever statement that is. As in follow_task, the move is kept whatever becomes of
-- the delivery; the view admin.invariants shows an event without one, and a replay sends it.
CREATE OR REPLACE FUNCTION callboard.follow_webhook() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM callboard.queue_webhook(NEW, NEW.last_event);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    IF SQLSTATE !~ '^(21|22|23|42|54|CB|P0)' THEN
        RAISE;
    END IF;
    RAISE WARNING 'event % of task % is written without its webhook: %', NEW.last_event, NEW.id, SQLERRM;
    RETURN NULL;
END $$;

-- A task without a webhook costs the test of a NULL.
CREATE OR REPLACE TRIGGER follow_webhook AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (
        NEW.webhook_url IS NOT NULL AND OLD.status <> NEW.status AND NEW.status = ANY (NEW.webhook_events))
    EXECUTE FUNCTION callboard.follow_webhook();

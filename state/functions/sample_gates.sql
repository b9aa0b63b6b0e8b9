-- Writes how gates are used: those that are in use or have a line, and once more those that were when they were sampled
-- last. Of more than `most`, those that many tasks use come first, and those that submitters name come last. Removes
-- some of what is old. The cost grows with what runs and with the number of lines, not with the number of gates.
CREATE OR REPLACE FUNCTION callboard.sample_gates(most integer) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    INSERT INTO callboard.gate_samples (gate, at, running, waiting, max_concurrent, closed_by)
    SELECT u.gate, callboard.now(), u.running, w.tasks, g.max_concurrent, callboard.gate_closure(g)
    FROM (
        SELECT x.gate, sum(x.running)::integer AS running
        FROM (
            SELECT s.gate, 1 AS running FROM callboard.slots s
            UNION ALL
            SELECT l.key, 0 FROM callboard.lines_after('', most * 4) l
            UNION ALL
            SELECT p.gate, 0 FROM callboard.gate_samples p
            WHERE p.at > callboard.now() - interval '60 seconds' AND (p.running > 0 OR p.waiting > 0)
        ) AS x
        GROUP BY x.gate
        ORDER BY x.gate ~ '^(tenant|target|actor|webhooks?):', sum(x.running) DESC, x.gate
        LIMIT most
    ) AS u
    LEFT JOIN callboard.gates g ON g.key = u.gate,
    LATERAL (
        SELECT count(*) AS tasks FROM (
            SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = u.gate LIMIT 10000
        ) AS t
    ) AS w
    WHERE u.running > 0 OR w.tasks > 0 OR EXISTS (
        SELECT FROM (SELECT p.running, p.waiting FROM callboard.gate_samples p WHERE p.gate = u.gate
                     ORDER BY p.at DESC LIMIT 1) AS last
        WHERE last.running > 0 OR last.waiting > 0);
    DELETE FROM callboard.gate_samples
    WHERE ctid = ANY (ARRAY(
        SELECT o.ctid FROM callboard.gate_samples o
        WHERE o.at < callboard.now() - interval '70 minutes' ORDER BY o.at LIMIT most * 4));
END $$;

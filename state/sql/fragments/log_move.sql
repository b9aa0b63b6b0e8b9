-- The event of a move. The statement goes on with the event's data, an object with at least `from` and `to`, and with
-- FROM and the moved tasks as m.
INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(),

-- The columns of the rows that a verb returns for the tasks that it has moved. FROM moved m.
m.id, m.epoch, m.actor, m.queue, m.before, m.status, m.gates

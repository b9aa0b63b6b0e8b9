// The life of a task, made from its moves: for each attempt the stretches of time that it has spent in each status.

const STILL = ["completed", "canceled", "dead"];
const FOR_OTHERS = ["scheduled", "paused", "dead"]; // time that no work was waiting for: it may be drawn shorter

/** Returns [{state, from, to, move, end}] in milliseconds. `move` is the data of the event that has begun the stretch,
 *  `end` that of the one that has ended it. The status in which a finished task stays has no length. */
export function readStretches(moves, now) {
  return moves.map(({ data, at, n }, index) => {
    const next = moves[index + 1];
    const from = Date.parse(at);
    const to = next ? Date.parse(next.at) : STILL.includes(data.to) ? from : Math.max(from, now);
    return { n, state: data.to, from, to, move: data, end: next?.data ?? null };
  });
}

/** Returns [{attempt, stretches, end}]: a new row begins where running has ended, if the life goes on. */
export function groupByAttempt(stretches, attempts) {
  const rows = [];
  let row = null;
  for (const stretch of stretches) {
    row ??= rows[rows.push({ attempt: null, stretches: [], end: null }) - 1];
    row.stretches.push(stretch);
    if (stretch.state !== "running") continue;
    row.attempt = stretch.move.attempt;
    row.end = stretch.end;
    if (stretch.end) row = null;
  }
  const last = rows.at(-1);
  if (rows.length > 1 && last.stretches.length === 1 && last.stretches[0].from === last.stretches[0].to) rows.pop();
  for (const each of rows) each.attempt ??= attempts + (each === rows.at(-1) && !isOver(each) ? 1 : 0);
  return rows;
}

const isOver = (row) => STILL.includes(row.stretches.at(-1).state);

/** Gives each stretch its place on the axis, in percent: `start`, `width`, and `cut` if it is drawn shorter than it was.
 *  Days before somebody retried a task must not hide the seconds of its work. */
export function placeStretches(stretches) {
  const length = ({ from, to }) => to - from;
  const work = stretches.filter(({ state }) => !FOR_OTHERS.includes(state)).reduce((sum, each) => sum + length(each), 0);
  const most = work || Infinity;
  const weights = stretches.map((each) => (FOR_OTHERS.includes(each.state) ? Math.min(length(each), most) : length(each)));
  const least = weights.reduce((sum, each) => sum + each, 0) / 160;
  const widths = weights.map((each) => (each > 0 ? Math.max(each, least) : 0));
  const all = widths.reduce((sum, each) => sum + each, 0) || 1;
  let start = 0;
  for (const [index, each] of stretches.entries()) {
    each.start = (100 * start) / all;
    each.width = (100 * widths[index]) / all;
    each.cut = length(each) > weights[index] * 1.01;
    start += widths[index];
  }
}

/** Returns the seconds in each status and how often it was entered: Map(state → {seconds, times}). */
export function addUp(stretches) {
  const sums = new Map();
  for (const { state, from, to } of stretches) {
    const { seconds, times } = sums.get(state) ?? { seconds: 0, times: 0 };
    sums.set(state, { seconds: seconds + (to - from) / 1000, times: times + 1 });
  }
  return sums;
}

// The life of a task: its state machine, and a bar for each attempt that answers where the time went.
import { clock, duration, ENDED, exactTime, h, join, plural } from "../../core.js";
import { button, card } from "../../parts.js";
import { drawFlow } from "./flow.js";
import { shorten, workerName } from "./words.js";

export const MOST_ROWS = 12;
const IDLE = ["scheduled", "paused", "dead"]; // no work waited: days of it must not hide the seconds of the work

/** `moves`: the events of kind status; `view`: {isCut: whether there were others before, all, showAll}. */
export function showLife(task, moves, now, { isCut, all, showAll }) {
  const stretches = place(moves.map((move, index) => makeStretch(move, moves[index + 1], now)));
  const rows = groupByAttempt(stretches, task);
  const hidden = all ? 0 : Math.max(0, rows.length - MOST_ROWS);
  const [first, last] = [stretches[0], stretches.at(-1)];
  const isLive = !ENDED.includes(last.state);
  const age = duration((last.to - Date.parse(task.created_at)) / 1000);
  return card(
    { title: "Life", note: isLive ? `${age} since it was submitted` : `${age} in all`, key: "life", class: "life" },
    drawFlow(stretches, task.status),
    isCut && h("p.faint", "It has moved so often that only its newest moves are drawn."),
    hidden > 0 && button(`Show ${plural(hidden, "earlier attempt")}`, showAll, { class: "plain" }),
    h("ol.attempt-bars", rows.slice(hidden).map((row) => showRow(row, isLive && row === rows.at(-1)))),
    h("p.axis.faint", h("time", { title: exactTime(first.from) }, clock(first.from)), isLive ? "now" : clock(last.to)),
  );
}

/** A status that lasts; the one in which a finished task stays has no length. `next`: the data of the move that ends it. */
function makeStretch({ n, at, data }, next, now) {
  const from = Date.parse(at);
  const to = next ? Date.parse(next.at) : ENDED.includes(data.to) ? from : Math.max(from, now);
  return { n, from, to, state: data.to, move: data, next: next?.data, length: to - from };
}

/** Gives each stretch its place on the axis in percent; `isShort` if it is drawn shorter than it was. */
function place(stretches) {
  const sum = (list) => list.reduce((total, each) => total + each, 0);
  const work = sum(stretches.map(({ state, length }) => (IDLE.includes(state) ? 0 : length))) || Infinity;
  const drawn = stretches.map(({ state, length }) => (IDLE.includes(state) ? Math.min(length, work) : length));
  const least = sum(drawn) / 160;
  const widths = drawn.map((each) => each && Math.max(each, least));
  const whole = sum(widths) || 1;
  let start = 0;
  return stretches.map((each, index) => {
    const width = (100 * widths[index]) / whole;
    start += width;
    return { ...each, start: start - width, width, isShort: each.length > drawn[index] * 1.01 };
  });
}

/** A row ends where running does, if the life goes on. */
function groupByAttempt(stretches, task) {
  const rows = [[]];
  for (const stretch of stretches) {
    rows.at(-1).push(stretch);
    if (stretch.state === "running" && stretch.next && !(ENDED.includes(stretch.next.to) && stretch === stretches.at(-2))) rows.push([]);
  }
  return rows.map((row) => {
    const run = row.find(({ state }) => state === "running");
    const attempt = run?.move.attempt ?? task.attempt + (ENDED.includes(row.at(-1).state) ? 0 : 1);
    return { attempt, run, stretches: row.filter(({ length }) => length), last: row.at(-1), end: run ? run.next : row.at(-1).move };
  });
}

function showRow({ attempt, run, stretches, last, end }, isLive) {
  const start = (stretches[0] ?? last).start;
  const words = [run && `${clock(run.from)} started on ${workerName(run.move.worker_id ?? "")}`, !isLive && end && describeEnd(end)];
  const at = { left: `${last.start + last.width}%` };
  return h(
    "li",
    { key: (stretches[0] ?? last).n },
    h("span.dim", `attempt ${attempt}`),
    h(
      "div.bar",
      { role: "img", "aria-label": join([...stretches.map(describe), !isLive && end?.to], "; ") },
      start > 0 && h("i.branch", { key: "branch", style: { left: `${start}%` } }),
      stretches.map(showStretch),
      h("i", { key: "end", class: isLive ? "now" : `end s-${end?.error ? "dead" : end?.to}`, style: at }),
    ),
    h("p", { class: end?.error && "failed", style: start > 50 ? { "text-align": "right" } : { "padding-left": `${start}%` } }, join(words, " · ")),
  );
}

const describe = ({ state, length, move }) => `${state} ${duration(length / 1000)}` + (state === "waiting" && move.gate ? ` at ${move.gate}` : "");

function showStretch(stretch) {
  const { n, state, from, to, length, move, start, width, isShort } = stretch;
  const time = duration(length / 1000);
  return h(
    "i",
    {
      key: n,
      class: [`s-${state}`, isShort && "short"],
      style: { left: `${start}%`, width: `calc(${width}% - 2px)` },
      title: `${describe(stretch)}${isShort ? ", drawn shorter" : ""}\n${exactTime(from)} to ${clock(to)}`,
    },
    width > 10 && (state === "waiting" && move.gate && width > 25 ? `${time} at ${move.gate}` : time),
  );
}

function describeEnd({ from, to, error, reason, by }) {
  if (error) return shorten(`${error.type}: ${error.message}`);
  return join([from === "running" && to === "queued" ? "given back" : to, by && `by ${by}`, reason]);
}

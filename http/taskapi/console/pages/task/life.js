// The life of a task: its state machine, and a bar for each attempt that answers where the time went.
import { h } from "../../core/dom.js";
import { clock, duration, exactTime, plural } from "../../core/format.js";
import { card } from "../../parts/basics.js";
import { drawFlow } from "./flow.js";
import { addUp, groupByAttempt, placeStretches, readStretches } from "./stretches.js";

const MOST_ROWS = 12;
const ROOM = 11; // percent of the axis: a stretch that is as wide has its time in it

/** `moves`: the events of kind status, the oldest first; `older`: whether there were others before them. */
export function showLife(task, moves, now, { older, all, showAll }) {
  const stretches = readStretches(moves, now);
  if (!stretches.length) return null;
  placeStretches(stretches);
  const rows = groupByAttempt(stretches, task.attempt);
  const hidden = all ? 0 : Math.max(0, rows.length - MOST_ROWS);
  const [first, last] = [stretches[0], stretches.at(-1)];
  const isLive = last.to >= now;
  const seconds = (last.to - Date.parse(task.created_at)) / 1000;
  return card(
    { title: "Life", note: isLive ? `${duration(seconds)} since it was submitted` : `${duration(seconds)} in all`, key: "life", class: "life" },
    drawFlow(addUp(stretches), moves, task.status),
    older && h("p", { class: "faint" }, "It has moved so often that only its newest moves are drawn."),
    hidden > 0 && h("button", { type: "button", class: "plain", onclick: showAll }, `Show ${plural(hidden, "earlier attempt")}`),
    h(
      "ol",
      { class: "attempt-bars", "aria-label": "Attempts" },
      rows.slice(hidden).map((row) => showRow(row, isLive && row === rows.at(-1))),
    ),
    h(
      "div",
      { class: "axis faint" },
      h("span", { title: exactTime(first.from) }, clock(first.from)),
      h("span", { title: exactTime(last.to) }, isLive ? "now" : clock(last.to)),
    ),
  );
}

function showRow({ attempt, stretches, end }, isLive) {
  const [first, last] = [stretches[0], stretches.at(-1)];
  const stop = last.start + last.width;
  const failed = end?.error ?? last.move.error;
  return h(
    "li",
    { key: first.n },
    h("span", { class: "dim" }, `attempt ${attempt}`),
    h(
      "div",
      { class: "track" },
      h(
        "div",
        { class: "bar", role: "img", "aria-label": [...stretches.filter(({ width }) => width > 0).map(describe), howItEnded(end ?? last.move)].filter(Boolean).join("; ") },
        stretches.filter(({ width }) => width > 0).map(showStretch),
        isLive && h("i", { class: "now", key: "now", style: { left: `${stop}%` } }),
        !isLive && h("i", { class: `end s-${failed ? "dead" : (end ?? last.move).to}`, key: "end", style: { left: `${stop}%` } }),
      ),
      h(
        "p",
        { class: ["caption", failed && "failed"], style: first.start > 50 ? { "text-align": "right" } : { "padding-left": `${first.start}%` } },
        sentence(stretches, end ?? (isLive ? null : last.move)),
      ),
    ),
  );
}

const describe = ({ state, from, to, move, cut }) =>
  `${state} ${duration((to - from) / 1000)}${move.gate && state === "waiting" ? ` at ${move.gate}` : ""}${cut ? ", drawn shorter" : ""}`;

function showStretch(stretch) {
  const { n, state, from, to, move, start, width, cut } = stretch;
  const time = duration((to - from) / 1000);
  const text = state === "waiting" && move.gate && width > 2 * ROOM ? `${time} at ${move.gate}` : time;
  return h(
    "i",
    {
      key: n,
      class: [`s-${state}`, cut && "cut"],
      style: { left: `${start}%`, width: `calc(${width}% - 2px)` },
      title: `${describe(stretch)}\n${exactTime(from)} to ${clock(to)}`,
    },
    width >= ROOM && text,
  );
}

/** "14:02:21 started on vm-2:881 · failed: RateLimited, openrouter answered 429" */
function sentence(stretches, end) {
  const run = stretches.find(({ state }) => state === "running");
  const started = run && `${clock(run.from)} started${run.move.worker_id ? ` on ${shortWorker(run.move.worker_id)}` : ""}`;
  return [started, howItEnded(end)].filter(Boolean).join(" · ");
}

/** "vm-1:4121:…" → "vm-1:4121" */
export const shortWorker = (id) => id.split(":").slice(0, 2).join(":");

function howItEnded(move) {
  if (!move) return "";
  const { to, from, error, reason, by } = move;
  if (error) return `${error.type}: ${error.message}`;
  const who = by ? ` by ${by}` : "";
  if (from === "running" && to === "queued") return reason ?? "given back";
  return ["completed", "canceled", "paused", "dead"].includes(to) ? `${to}${who}${reason && reason !== to ? `, ${reason}` : ""}` : "";
}

// Where the work is: the life of a task with the number of tasks in each state, and of those that pass in a minute.
import { compact, define, duration, h, linkTo, number, View } from "../../core.js";

const WIDE = 860; // pixels from which all states fit beside each other
const LATE = 60; // seconds in the queue that are worth a color
const HEIGHT = 60; // of a state
const WAYS = [
  ["scheduled", "queued"], ["outside", "queued", "submitted"], ["queued", "waiting"], ["waiting", "running"], ["running", "paused"],
  ["queued", "running", "attempted"], ["running", "completed", "completed"], ["running", "dead", "died"], ["running", "scheduled", "retried"],
];

class TaskFlow extends View {
  start() {
    const sizes = new ResizeObserver(() => this.update());
    sizes.observe(this);
    this.own(() => sizes.disconnect());
  }

  content() {
    const rates = countRates(this.now.per_minute);
    const { box, height, at } = placeStates(this.clientWidth);
    const label = Object.entries(rates).map(([name, rate]) => `${write(rate)} ${name}`).join(", ");
    return h(
      "div.map",
      { style: { height: `${height}px` } },
      h("svg", { role: "img", "aria-label": `In a minute: ${label}.`, width: "100%", height }, WAYS.map(([from, to, name]) => at[from] && drawWay(to, name, connect(at[from], at[to], box), rates[name]))),
      describeStates(this.now).map(([state, title, count, { top, note, isLate, href = linkTo("/tasks", { q: `status:${state}` }) }]) =>
        h(
          "a.state",
          { key: state, class: [`s-${state}`, !count && "none", isLate && "is-late"], href, style: { left: `${at[state][0]}px`, top: `${at[state][1]}px`, width: `${box}px` } },
          h("div", h("span", title), h("small", top)),
          h("div", h("b", count >= 1e6 ? compact(count) : number(count)), h("small", note)),
        ),
      ),
    );
  }
}
define("task-flow", TaskFlow, "now");

const sum = (list, name) => list.reduce((total, each) => total + each[name], 0);
const write = (rate) => (rate < 10 ? rate.toFixed(1) : number(Math.round(rate)));

/** An attempt that fails and does not end in a dead letter is tried again. */
const countRates = ({ created, completed, died, attempts, attempts_failed: failed }) => ({
  submitted: created, attempted: attempts, completed, died, retried: Math.max(0, failed - died),
});

function describeStates({ states, queues, places, history }) {
  const retries = sum(queues, "retry");
  const oldest = Math.max(...queues.map((each) => each.oldest_seconds ?? 0));
  const lately = (name) => sum(history, name) > 0 && `+${compact(sum(history, name))}/h`;
  const isCounted = states.completed !== null; // not for a tenant
  return [
    ["scheduled", "Scheduled", states.scheduled, {}],
    ["queued", "Queued", states.queued, { top: retries > 0 && `${compact(retries)} to retry`, note: states.queued > 0 && `oldest ${duration(oldest)}`, isLate: oldest > LATE }],
    ["waiting", "Waiting at a gate", states.waiting, {}],
    ["running", "Running", states.running, { note: places.threads > 0 && `of ${compact(places.threads + places.coroutines)}` }],
    ["paused", "Paused", states.paused, {}],
    ["completed", "Completed", states.completed ?? sum(history, "completed"), { top: isCounted ? lately("completed") : "last hour" }],
    isCounted && ["canceled", "Canceled", states.canceled, {}],
    ["dead", "Dead letters", states.dead, { top: lately("died"), href: linkTo("/dead-letters") }],
  ].filter(Boolean);
}

/** Where the states are, in pixels: beside each other, or in two columns on a phone. */
function placeStates(width) {
  const isWide = width >= WIDE;
  const box = isWide ? Math.round(width * 0.145) : Math.min(220, Math.round((width - 34) / 2));
  const place = (share, row) => [Math.round(share * (isWide ? width - box : box + 34)), isWide ? 36 + 100 * row : 94 * row];
  const at = isWide
    ? {
        outside: [-box, 136], scheduled: place(0, 0), queued: place(0.21, 0), running: place(0.57, 0), completed: place(1, 0),
        waiting: place(0.34, 1), paused: place(0.62, 1), canceled: place(0.8, 1), dead: place(1, 1),
      }
    : {
        scheduled: place(0, 0), queued: place(0, 1), running: place(0, 2), completed: place(0, 3),
        waiting: place(1, 1), paused: place(1, 2), dead: place(1, 3), canceled: place(1, 3.75),
      };
  return { box, at, height: (isWide ? at.dead : at.canceled)[1] + HEIGHT + 2 };
}

/** Returns the line of a way, its tip, and the place of its label; nothing for ways back in two columns. */
function connect([x1, y1], [x2, y2], box) {
  const right = x1 + box;
  if (y1 === y2 && x2 < x1) return [`M${x1 + 24} ${y1}V22q0-8-8-8H${x2 + box - 16}q-8 0-8 8V${y2}`, "m-4-6 4 6 4-6", (right + x2) / 2, 9, "middle"];
  if (y1 === y2) return [`M${right} ${y1 + 30}H${x2}`, "m-6-4 6 4-6 4", (right + x2) / 2, y1 + 22, "middle"];
  if (x2 < x1) return undefined;
  const isBack = x1 === x2;
  if (y2 < y1) return [`M${right} ${y1 + 30}H${x2 + 24}V${y2 + HEIGHT}`, "m-4 6 4-6 4 6", isBack ? x2 + 33 : right, isBack ? y2 + HEIGHT + 21 : y1 + 22];
  const x = Math.max(x1, x2) + 24;
  return [x < right ? `M${x} ${y1 + HEIGHT}V${y2}` : `M${right - 24} ${y1 + HEIGHT}v12H${x}V${y2}`, "m-4-6 4 6 4-6", x + 9, y2 - 8];
}

/** The more pass, the wider the way; what moves on it is faster. */
function drawWay(to, name, [line, tip, x, y, anchor] = [], rate = 0) {
  const size = Math.log10(1 + rate);
  return line && h(
    "g",
    { key: name, class: [`s-${to}`, rate > 0 && "used"] },
    h("path", { d: line + tip, style: { "stroke-width": Math.min(5, 1.5 + size) } }),
    rate > 0 && h("path.moving", { d: line, style: { "animation-duration": `${(3 / (1 + size)).toFixed(1)}s` } }),
    name && h("text", { key: name, x, y, "text-anchor": anchor }, rate > 0 && `${write(rate)}/min `, h("tspan", name)),
  );
}

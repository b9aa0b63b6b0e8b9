// The life of a task as a drawn state machine: where it has been, how long, which ways it took, and where it is.
import { h } from "../../core/dom.js";
import { duration, number } from "../../core/format.js";

const WIDTH = 148;
const HEIGHT = 40;
const TOP = 8;
const BELOW = 78;
const PLACES = {
  scheduled: [2, TOP],
  queued: [222, TOP],
  waiting: [316, BELOW],
  running: [456, TOP],
  paused: [548, BELOW],
  completed: [760, TOP],
  dead: [760, BELOW],
  canceled: [926, BELOW],
};
// The usual ways, which are drawn even if nobody has gone them.
const USUAL = ["scheduled>queued", "queued>running", "queued>waiting", "running>completed", "running>dead"];

/** `sums`: of addUp(); `moves`: the events of kind status; `current`: the status. */
export function drawFlow(sums, moves, current) {
  const taken = new Map();
  for (const { data } of moves) {
    if (data.from) taken.set(`${data.from}>${data.to}`, (taken.get(`${data.from}>${data.to}`) ?? 0) + 1);
  }
  const ways = [...new Set([...USUAL, ...taken.keys()])].filter((way) => way.split(">").every((state) => state in PLACES));
  const words = [...sums].map(([state, { seconds, times }]) => `${state} ${duration(seconds)}${times > 1 ? `, ${times} times` : ""}`);
  return h(
    "div",
    { class: "flow", tabindex: 0, role: "img", "aria-label": `Now ${current}. Time in each status: ${words.join("; ")}.` },
    h(
      "svg",
      { viewBox: "0 0 1076 122", "aria-hidden": "true" },
      ways.map((way) => drawWay(way, taken.get(way) ?? 0)),
      Object.entries(PLACES).map(([state, place]) => drawState(state, place, sums.get(state), state === current)),
    ),
  );
}

function drawState(state, [x, y], sum, isCurrent) {
  const time = sum?.seconds > 0 && duration(sum.seconds);
  return h(
    "g",
    { key: state, class: ["state", `s-${state}`, sum && "visited", isCurrent && "current"], transform: `translate(${x} ${y})` },
    h("rect", { width: WIDTH, height: HEIGHT, rx: 8 }),
    h("path", { d: `M1.5 8v${HEIGHT - 16}` }),
    h("text", { x: 14, y: 25 }, state),
    time && h("text", { class: "time", x: WIDTH - 12, y: 25, "text-anchor": "end" }, time),
    sum?.times > 1 && h("text", { class: "times", x: WIDTH - 12, y: 37, "text-anchor": "end" }, `${number(sum.times)} times`),
  );
}

function drawWay(way, times) {
  const [from, to] = way.split(">");
  const [line, x, y] = connect(PLACES[from], PLACES[to]);
  return h(
    "g",
    { key: way, class: ["way", `s-${to}`, times && "taken"] },
    h("path", { d: line }),
    times > 1 && h("text", { x, y }, `×${number(times)}`),
  );
}

/** Returns a line between two states, and the place for a text at it. Ways back run beside the ways there. */
function connect([x1, y1], [x2, y2]) {
  const forth = x2 > x1;
  if (y1 === y2 && forth) return [`M${x1 + WIDTH} ${y1 + HEIGHT / 2}H${x2}`, (x1 + WIDTH + x2) / 2 - 8, y1 + 15];
  if (y1 === y2) return [`M${x1 + 60} ${y1}v-5H${x2 + 90}v5`, (x1 + x2 + 150) / 2, y1 - 1];
  const middle = (y1 + y2 + HEIGHT) / 2 + (forth ? 4 : -4);
  const [start, end] = y1 < y2 ? [y1 + HEIGHT, y2] : [y1, y2 + HEIGHT];
  const out = x1 + (forth ? WIDTH - 34 : 34);
  const into = x2 + (forth ? 34 : WIDTH - 34);
  return [`M${out} ${start}V${middle}H${into}V${end}`, (out + into) / 2, middle - 2];
}

// The life of a task as a drawn state machine: where it has been and how long, which ways it took, and where it is.
import { duration, h, number } from "../../core.js";

const [WIDTH, HEIGHT, TOP, BELOW] = [148, 40, 8, 78];
export const PHONE = matchMedia("(max-width: 760px)");
const WIDE_PLACES = {
  scheduled: [2, TOP],
  queued: [222, TOP],
  waiting: [316, BELOW],
  running: [456, TOP],
  paused: [548, BELOW],
  completed: [760, TOP],
  dead: [760, BELOW],
  canceled: [926, BELOW],
};
const PHONE_PLACES = Object.fromEntries(
  ["scheduled", "canceled", "queued", "waiting", "running", "paused", "completed", "dead"].map((state, at) => [
    state,
    [2 + 178 * (at % 2), TOP + 70 * Math.floor(at / 2)],
  ]),
);
const USUAL = ["scheduled>queued", "queued>running", "queued>waiting", "running>completed", "running>dead"]; // drawn in any case

export function drawFlow(stretches, current) {
  const times = new Map(); // milliseconds by status
  const taken = new Map(USUAL.map((way) => [way, 0])); // by way: how often
  for (const { state, length, next } of stretches) {
    times.set(state, (times.get(state) ?? 0) + length);
    if (next) taken.set(`${state}>${next.to}`, (taken.get(`${state}>${next.to}`) ?? 0) + 1);
  }
  const places = PHONE.matches ? PHONE_PLACES : WIDE_PLACES;
  const words = [...times].map(([state, time]) => `${state} ${duration(time / 1000)}`).join("; ");
  return h(
    "div.flow",
    { key: "flow", role: "img", "aria-label": `Now ${current}. Time in each status: ${words}.` },
    h(
      "svg",
      { viewBox: PHONE.matches ? "0 0 330 262" : "0 0 1076 122", "aria-hidden": "true" },
      [...taken].map(([way, count]) => drawWay(way, count, places)),
      Object.entries(places).map(([state, [x, y]]) =>
        h(
          "g",
          { key: state, class: [`s-${state}`, times.has(state) && "visited", state === current && "current"], transform: `translate(${x} ${y})` },
          h("rect", { width: WIDTH, height: HEIGHT, rx: 8 }),
          h("text", { x: 14, y: 25 }, state),
          times.get(state) > 0 && h("text.time", { x: WIDTH - 12, y: 25 }, duration(times.get(state) / 1000)),
        ),
      ),
    ),
  );
}

function drawWay(way, count, places) {
  const [from, to] = way.split(">");
  const [line, x, y] = connect(places[from], places[to]);
  return h(
    "g",
    { key: way, class: count > 0 && `taken s-${to}` },
    h("path", { d: line }),
    count > 1 && h("text", { x, y }, `×${number(count)}`),
  );
}

/** Returns a line between two states, and the place of a text at it. Ways back run beside the ways there. */
function connect([x1, y1], [x2, y2]) {
  const isForth = x2 > x1;
  const isDown = y2 > y1;
  if (y1 === y2 && isForth) return [`M${x1 + WIDTH} ${y1 + HEIGHT / 2}H${x2}`, (x1 + WIDTH + x2) / 2 - 8, y1 + 15];
  if (y1 === y2) return [`M${x1 + 60} ${y1}v-5H${x2 + 90}v5`, (x1 + x2 + 150) / 2, y1 - 1];
  const [start, end] = isDown ? [y1 + HEIGHT, y2] : [y1, y2 + HEIGHT];
  if (x1 === x2) return [`M${x1 + (isDown ? 34 : 114)} ${start}V${end}`, x1 + (isDown ? 40 : 120), end + (isDown ? -10 : 20)];
  const middle = (isDown ? end - 15 : end + 15) + (isForth ? 4 : -4);
  const [out, into] = isForth ? [x1 + WIDTH - 34, x2 + 34] : [x1 + 34, x2 + WIDTH - 34];
  return [`M${out} ${start}V${middle}H${into}V${end}`, (out + into) / 2, middle - 2];
}

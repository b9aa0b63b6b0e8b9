// The history as a timeline, the newest on top, of all kinds or of one. Pieces of the same kind in a row are one line.
import { h } from "../../core/dom.js";
import { clock, exactTime, plural } from "../../core/format.js";
import { card, empty, loading } from "../../parts/basics.js";
import "../../parts/json-tree.js";
import { describeEvent } from "./words.js";

const USUAL = ["status", "control", "progress", "token", "log", "tool", "part", "payload"];
const PIECES = new Set(["token", "log", "progress"]); // kinds of which there are many
const MOST = 400; // lines; filters show the rest

/** `kind`: "" or the only kind that is shown; `open`: the numbers of the events that show their data. */
export function showTimeline(history, { kind, open, choose, toggle, readMore }) {
  const events = history.list(kind);
  const known = history.kinds();
  const kinds = history.hasMore() ? [...new Set([...USUAL, ...known])] : USUAL.filter((each) => known.has(each) || each === kind);
  for (const each of known) if (!kinds.includes(each)) kinds.push(each);
  const lines = events && group(events.toReversed());
  return card(
    { title: "History", key: "history", class: "history" },
    h(
      "div",
      { class: "kinds", role: "group", "aria-label": "Kinds of events" },
      ["", ...kinds].map((each) =>
        h("button", { key: each, type: "button", class: "plain", "aria-pressed": String(each === kind), onclick: () => choose(each) }, each || "all"),
      ),
    ),
    !events && loading(),
    events?.length === 0 && empty(`No events of the kind ${kind}.`, "Choose all to see what has happened."),
    lines && h("ol", { class: "timeline" }, lines.slice(0, MOST).map((line) => showLine(line, open, toggle))),
    events && (history.hasMore(kind) || lines.length > MOST) && lines.length <= MOST && h("button", { type: "button", onclick: readMore }, "Show older events"),
    lines?.length > MOST && h("p", { class: "faint" }, `The newest ${MOST} lines. Choose a kind to see older ones.`),
  );
}

/** Returns lists of events, the newest first: pieces of one kind that follow each other belong together. */
function group(events) {
  const lines = [];
  for (const event of events) {
    const line = lines.at(-1);
    if (line && PIECES.has(event.kind) && line[0].kind === event.kind) line.push(event);
    else lines.push([event]);
  }
  return lines;
}

function showLine(events, open, toggle) {
  const [newest, oldest] = [events[0], events.at(-1)];
  const { tone, what, detail } = events.length > 1 ? describeMany(events) : describeEvent(newest);
  const isOpen = open.has(oldest.n);
  return h(
    "li",
    { key: oldest.n, class: tone && `s-${tone}` },
    h("time", { datetime: newest.at, title: `${exactTime(newest.at)}, event ${newest.n}` }, clock(newest.at)),
    h(
      "div",
      null,
      h(
        "button",
        { type: "button", class: "line", "aria-expanded": String(isOpen), onclick: () => toggle(oldest.n) },
        h("span", null, what),
        detail && h("span", { class: "faint" }, " ", detail),
      ),
      isOpen && (events.length > 1 ? showPieces(events) : h("json-tree", { key: "data", props: { value: newest.data } })),
    ),
  );
}

function describeMany(events) {
  const [newest] = events;
  const { what, detail } = describeEvent(newest);
  if (newest.kind === "progress") return { what, detail: plural(events.length, "update") };
  return { what: plural(events.length, newest.kind), detail };
}

const showPieces = (events) =>
  h(
    "ol",
    { class: "pieces", key: "pieces" },
    events.slice(0, MOST).map((event) => {
      const { what, detail } = describeEvent(event);
      return h("li", { key: event.n }, h("span", { class: "faint" }, `${clock(event.at)} `), event.kind === "progress" ? what : detail);
    }),
  );

// The history as a timeline, the newest on top, of all kinds or of one. Pieces of one kind in a row are one line.
import { clock, exactTime, h, plural } from "../../core.js";
import { button, card, jsonTree, loading, moreButton } from "../../parts.js";
import { describeEvent } from "./words.js";

const USUAL = ["status", "control", "progress", "token", "log", "tool", "part", "payload"];
const PIECES = ["token", "log", "progress"]; // kinds of which there are many
const MOST = 400; // lines

/** `kind`: "" for all; `open`: the numbers of the events whose data are shown. */
export function showTimeline(history, { kind, open, choose, toggle, readMore }) {
  const events = history.list(kind);
  const known = [...history.kinds];
  const kinds = USUAL.filter((each) => history.hasMore("") || known.includes(each) || each === kind);
  const lines = group(events ?? []).slice(0, MOST);
  const filter = (each) =>
    button(each || "all", () => choose(each), { key: each, class: "plain", "aria-pressed": String(each === kind) });
  return card(
    { title: "History", key: "history", class: "history" },
    h("div.kinds", { role: "group", "aria-label": "Kinds of events" }, ["", ...new Set([...kinds, ...known])].map(filter)),
    !events && loading(),
    events && !lines.length && h("p.dim", `There are no events of the kind ${kind}.`),
    h("ol.timeline", lines.map((line) => showLine(line, open, toggle))),
    events && history.hasMore(kind) && lines.length < MOST && moreButton(readMore, "Show older events"),
    lines.length === MOST && h("p.faint", "Choose a kind to see older events."),
  );
}

/** Returns lists of events, the newest first. */
function group(events) {
  const lines = [];
  for (const event of events.toReversed()) {
    if (PIECES.includes(event.kind) && lines.at(-1)?.[0].kind === event.kind) lines.at(-1).push(event);
    else lines.push([event]);
  }
  return lines;
}

/** A line of a timeline. With `toggle` it opens to show the data. */
export function showLine(events, open = null, toggle = null) {
  const [newest, { n }] = [events[0], events.at(-1)];
  const { tone, what, detail } = describeEvent(newest);
  const count = events.length > 1 && plural(events.length, newest.kind === "progress" ? "update" : newest.kind);
  const texts = count && newest.kind !== "progress" ? [count, detail] : [what, count || detail];
  const words = [h("span", texts[0]), texts[1] && h("span.faint", " ", texts[1])];
  const isOpen = open?.has(n);
  return h(
    "li",
    { key: n, class: tone && `s-${tone}` },
    h("time", { datetime: newest.at, title: `${exactTime(newest.at)}, event ${newest.n}` }, clock(newest.at)),
    h(
      "div",
      toggle ? button(words, () => toggle(n), { key: "words", "aria-expanded": String(isOpen) }) : words,
      isOpen && jsonTree(count ? mergeData(events) : newest.data),
    ),
  );
}

/** What pieces say together: a text, or one after the other. The same object as long as there are no more of them. */
function mergeData(events) {
  if (merged.get(events.at(-1))?.length !== events.length) {
    const data = events.toReversed().map((event) => event.data);
    merged.set(events.at(-1), { length: events.length, value: events[0].kind === "progress" ? data : data.map(({ text }) => text).join("") });
  }
  return merged.get(events.at(-1)).value;
}
const merged = new WeakMap();

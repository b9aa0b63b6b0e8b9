// The small parts of all pages.
import { h } from "../core/dom.js";
import { number, percent, words } from "../core/format.js";
import { toast } from "./toasts.js";

/** A short state in one of the tones: the names of the statuses. */
export const chip = (text, tone = "queued") => h("span", { class: `chip s-${tone}` }, text);

/** A status, in its color everywhere. */
export const status = (name) => chip(words(name), name);

/** A button that changes only the page; what changes the server is an actionButton. */
export const button = (label, onclick, attributes) => h("button", { key: label, type: "button", onclick, ...attributes }, label);

/** Buttons of which one is pressed. `choices`: [value, label] of each. */
export const pills = (label, choices, chosen, choose, ...more) =>
  h(
    "div.pills",
    { role: "group", "aria-label": label },
    choices.map(([value, text]) => button(text, () => choose(value), { key: value, "aria-pressed": String(value === chosen) })),
    more,
  );

const ORDER = ["completed", "running", "in_progress", "waiting", "dead", "failed", "rejected", "expired", "canceled", "pending"];

/** How many there are of each status, as one bar. */
export function stack(counts) {
  const shown = ORDER.filter((name) => counts[name]);
  const label = shown.map((name) => `${number(counts[name])} ${words(name)}`).join(", ") || "none";
  return h(
    "span.stack",
    { role: "img", "aria-label": label, title: label },
    shown.map((name) => h("i", { key: name, class: `s-${name}`, style: { "flex-grow": counts[name] } })),
  );
}

/** A panel with a heading. `note` stands small beside it. `span` is its width in twelfths. */
export const card = ({ title, note, span = 12, class: also, key }, ...children) =>
  h(
    "section",
    { key, class: ["card", also, `span-${span}`] },
    title && h("h2", null, title, note && h("small", null, note)),
    ...children,
  );

/** The heading of a page, with what can be done on it at the right. */
export const pageHead = (title, ...actions) =>
  h("div", { class: "head" }, h("h1", null, title), h("div", { class: "acts" }, ...actions));

/** What a list shows when it has nothing: why, and what to do next. */
export const empty = (title, ...text) =>
  h("div", { class: "empty" }, h("b", null, title), text.length > 0 && h("p", null, ...text));

export const loading = (text = "Loading…") => h("div", { class: "loading", role: "status" }, text);

/** A problem that the server has answered. */
export const problem = (error) =>
  h("div", { class: "problem", role: "alert" }, h("b", null, error.title || "This did not work."), " ", error.message);

/** A table that scrolls where it is too wide. `attributes`: its own; `rows`: of row(). */
export const table = (attributes, headings, rows) =>
  h(
    "div",
    { class: "table" },
    h(
      "table",
      attributes,
      h("thead", null, h("tr", null, headings.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, rows),
    ),
  );

/** A row with its identity and its cells: contents, or whole <td>. */
export const row = (key, ...cells) => h("tr", { key }, cells.map((cell) => (cell?.tag === "td" ? cell : h("td", null, cell))));

/** Pairs of a name and what it is; pairs without a value are left out. */
export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "")
      .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );

/** A bar that shows a share of a whole. */
export const meter = (value, most, { tone = "running", label } = {}) =>
  h(
    "span",
    {
      class: `meter s-${tone}`,
      role: "meter",
      "aria-valuemin": 0,
      "aria-valuemax": most,
      "aria-valuenow": value,
      "aria-label": label ?? `${value} of ${most}`,
    },
    h("i", { style: { width: percent(most ? Math.min(1, value / most) : 0).replace(" ", "") } }),
  );

/** Places of a worker as squares: those that are busy first. */
export const places = (groups) =>
  h(
    "span",
    { class: "places", role: "img", "aria-label": groups.map((g) => `${g.busy} of ${g.all} ${g.name}`).join(", ") },
    groups.map(({ busy, all, tone }) =>
      Array.from({ length: Math.min(all, 40) }, (_, index) => h("i", { class: index < busy && `busy s-${tone}` })),
    ),
  );

/** A link inside the console. */
export const link = (href, text, attributes) => h("a", { href, ...attributes }, text);

/** A code-like text: an id, a key. */
export const code = (text, attributes) => h("code", attributes, text);

/** A text that can be copied. */
export const copyButton = (label, text) =>
  h(
    "button",
    {
      type: "button",
      onclick: async () => {
        await copy(typeof text === "function" ? text() : text);
        toast(`${label}: copied.`);
      },
    },
    label,
  );

/** Browsers give pages that come by http from another machine no clipboard; there the old way still works. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** "waiting_at" → a heading of a column. */
export const heading = (name) => {
  const text = words(name);
  return text[0].toUpperCase() + text.slice(1);
};

// The small parts of all pages.
import { h, isGiven, join, linkTo, number, percent, words } from "../core.js";
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

/** Shows more of a list. */
export const moreButton = (onclick, label = "Show more") => button(label, onclick, { class: "more" });

const ORDER = ["completed", "running", "in_progress", "waiting", "dead", "failed", "rejected", "expired", "canceled", "pending"];

/** How many there are of each status, as one bar. */
export function stack(counts) {
  const shown = ORDER.filter((name) => counts[name]);
  const label = join(shown.map((name) => `${number(counts[name])} ${words(name)}`)) || "none";
  return h(
    "span.stack",
    { role: "img", "aria-label": label, title: label },
    shown.map((name) => h("i", { key: name, class: `s-${name}`, style: { "flex-grow": counts[name] } })),
  );
}

/** A panel with a heading. `note` stands small beside it. `span` is its width in twelfths. */
export const card = ({ title, note, span = 12, class: also, key }, ...children) =>
  h("section.card", { key, class: [also, `span-${span}`] }, title && h("h2", title, note && h("small", note)), ...children);

/** The heading of a page, with what can be done on it at the right. */
export const pageHead = (title, ...actions) => h("div.head", h("h1", title), h("div.acts", ...actions));

/** Where a page about one thing is: below the page of a list. */
export const crumbs = (title, path, id, ...more) => h("p.crumbs", link(path, title), " / ", code(id), ...more);

/** Something that people should know. */
export const notice = (title, text, { key = "notice", role = "status" } = {}) =>
  h("div.notice", { key, role }, h("b", title), h("span", text));

/** What a list shows when it has nothing: why, and what to do next. */
export const empty = (title, ...text) => h("div.empty", h("b", title), text.length > 0 && h("p", ...text));

export const loading = (text = "Loading…") => h("div.loading", { role: "status" }, text);

/** A problem that the server has answered. */
export const problem = (error) =>
  h("div.problem", { role: "alert" }, h("b", error.title || "This did not work."), " ", error.message);

const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});

/** A table that scrolls where it is too wide, also by the keyboard. `attributes`: its own; `rows`: of row(). */
export const table = (attributes, headings, rows) =>
  h(
    "div.table",
    { key: attributes["aria-label"], created: (element) => scrolling.observe(element) },
    h("table", attributes, h("thead", h("tr", headings.map((name) => h("th", { scope: "col" }, name)))), h("tbody", rows)),
  );

/** A row with its identity and its cells: contents, or whole <td>. */
export const row = (key, ...cells) => h("tr", { key }, cells.map((cell) => (cell?.tag === "td" ? cell : h("td", cell))));

/** Pairs of a name and what it is; pairs without a value are left out. */
export const facts = (pairs) =>
  h(
    "dl.facts",
    pairs
      .filter(([, value]) => isGiven(value) && value !== false)
      .map(([name, value]) => [h("dt", name), h("dd", value)]),
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
    "span.places",
    { role: "img", "aria-label": join(groups.map(({ busy, all, name }) => `${busy} of ${all} ${name}`)) },
    groups.map(({ busy, all, tone }) =>
      Array.from({ length: Math.min(all, 40) }, (_, index) => h("i", { class: index < busy && `busy s-${tone}` })),
    ),
  );

/** A link inside the console, to the path of a page or to what linkTo() has made of it. */
export const link = (to, text, attributes) => h("a", { href: to.startsWith("/") ? linkTo(to) : to, ...attributes }, text);

/** A code-like text: an id, a key. */
export const code = (text, attributes) => h("code", attributes, text);

/** A text that can be copied. */
export const copyButton = (label, text) =>
  button(label, async () => {
    await copy(typeof text === "function" ? text() : text);
    toast(`${label}: copied.`);
  });

/** Where the browser gives no clipboard, such as to pages that come by http from another machine, the old way still works. */
async function copy(text) {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    // undefined, or refused
  }
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

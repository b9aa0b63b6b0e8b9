// Who holds a gate, who waits for it, and what was changed.
import { h } from "../../core/dom.js";
import { duration, number, percent, shortId } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { code, empty, link } from "../../parts/basics.js";
import { moment, since } from "../../parts/moment-text.js";
import { changeWords } from "./words.js";

const taskLink = (id) => link(linkTo(`/tasks/${id}`), code(shortId(id)), { title: id });

const table = (label, headings, rows) =>
  h(
    "div",
    { class: "table" },
    h(
      "table",
      { "aria-label": label },
      h("thead", null, h("tr", null, headings.map((name) => h("th", { key: name, scope: "col" }, name)))),
      h("tbody", null, rows),
    ),
  );

const actorOf = ({ actor, tenant }) => [actor, tenant && h("small", null, tenant)];

export const holdersTable = (holders) =>
  holders.length === 0
    ? empty("Nobody holds a place.")
    : table("Holders", ["Task", "Actor", "Worker", "Since", ""], holders.map((each) =>
        h(
          "tr",
          { key: each.task_id },
          h("td", null, taskLink(each.task_id)),
          h("td", null, actorOf(each)),
          h("td", { class: "dim worker", title: each.worker_id }, each.worker_id),
          h("td", { class: "dim" }, since(each.since)),
          h("td", { class: "num dim" }, each.cancel_requested ? "stopping" : each.percent !== null && percent(each.percent / 100)),
        ),
      ));

export const waitersTable = (waiters, gate) =>
  waiters.length === 0
    ? empty("Nobody waits.", gate.key.startsWith("queue:") && "Tasks of a paused queue stay queued.")
    : table("Waiting tasks", ["Place", "Task", "Actor", "Waits", "Starts in"], waiters.map((each) =>
        h(
          "tr",
          { key: each.task_id },
          h("td", null, number(each.position)),
          h("td", null, taskLink(each.task_id)),
          h("td", null, actorOf(each)),
          h("td", { class: "dim" }, since(each.since)),
          h("td", { class: "dim" }, each.eta_seconds === null ? "–" : `about ${duration(Math.max(1, Math.round(each.eta_seconds)))}`),
        ),
      ));

const WHO = { operator: "an operator without a key", code: "the code", breaker: "the breaker" };

export const changesTable = (changes) =>
  changes.length === 0
    ? empty("Nobody has changed it.")
    : table("Changes", ["When", "Who", "What"], changes.map((each) =>
        h(
          "tr",
          { key: `${each.at} ${JSON.stringify(each.changes)}` },
          h("td", { class: "dim" }, moment(each.at)),
          h("td", null, each.by ?? h("span", { class: "dim" }, WHO[each.origin])),
          h("td", null, Object.entries(each.changes).map(([field, pair]) => changeWords(field, pair)).join(", ")),
        ),
      ));

// Who holds a gate, who waits for it, and what was changed.
import { duration, h, number, percent } from "../../core.js";
import { empty, linkToTask, moment, row, since, table } from "../../parts.js";
import { changeWords } from "./words.js";

const WHO = { operator: "an operator without a key", code: "the code", breaker: "the breaker" };
const task = (each) => linkToTask(each.task_id);
const actor = (each) => [each.actor, each.tenant && h("small", each.tenant)];
const lasts = (each) => since(each.since);

/** Returns what shows rows in these columns. */
const tableOf = (label, columns, ifEmpty) => (rows) =>
  rows.length
    ? table({ "aria-label": label }, Object.keys(columns), rows.map((each) => row(each.task_id, ...Object.values(columns).map((show) => show(each)))))
    : empty(ifEmpty);

export const holdersTable = tableOf("Holders", {
  Task: task,
  Actor: actor,
  Worker: (each) => h("span.dim.worker", each.worker_id),
  Since: lasts,
  Progress: (each) => (each.cancel_requested ? "stopping" : each.percent === null ? "–" : percent(each.percent / 100)),
}, "Nobody holds a place.");

export const waitersTable = tableOf("Waiting tasks", {
  Place: (each) => number(each.position),
  Task: task,
  Actor: actor,
  Waits: lasts,
  "Starts in": (each) => (each.eta_seconds === null ? "–" : `about ${duration(Math.max(1, Math.round(each.eta_seconds)))}`),
}, "Nobody waits.");

export const changesTable = tableOf("Changes", {
  When: (each) => moment(each.at),
  Who: (each) => each.by ?? h("span.dim", WHO[each.origin]),
  What: (each) => Object.entries(each.changes).map(changeWords).join(", "),
}, "Nobody has changed it.");

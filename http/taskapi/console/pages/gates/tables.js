// Who holds a gate, who waits for it, and what was changed.
import { h } from "../../core/dom.js";
import { duration, number, percent, shortId } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { code, empty, link, row, table } from "../../parts/basics.js";
import { moment, since } from "../../parts/moment-text.js";
import { changeWords } from "./words.js";

const taskLink = ({ task_id: id }) => link(linkTo(`/tasks/${id}`), code(shortId(id)), { title: id });
const actorOf = ({ actor, tenant }) => [actor, tenant && h("small", null, tenant)];
const WHO = { operator: "an operator without a key", code: "the code", breaker: "the breaker" };

const list = (label, rows, columns, ifEmpty) =>
  rows.length === 0
    ? empty(ifEmpty)
    : table({ "aria-label": label }, Object.keys(columns), rows.map((each) =>
        row(each.task_id, ...Object.values(columns).map((show) => show(each))),
      ));

export const holdersTable = (rows) =>
  list("Holders", rows, {
    Task: taskLink,
    Actor: actorOf,
    Worker: (each) => h("span", { class: "dim worker" }, each.worker_id),
    Since: (each) => since(each.since),
    Progress: (each) => (each.cancel_requested ? "stopping" : each.percent === null ? "–" : percent(each.percent / 100)),
  }, "Nobody holds a place.");

export const waitersTable = (rows) =>
  list("Waiting tasks", rows, {
    Place: (each) => number(each.position),
    Task: taskLink,
    Actor: actorOf,
    Waits: (each) => since(each.since),
    "Starts in": (each) => (each.eta_seconds === null ? "–" : `about ${duration(Math.max(1, Math.round(each.eta_seconds)))}`),
  }, "Nobody waits.");

export const changesTable = (rows) =>
  list("Changes", rows, {
    When: (each) => moment(each.at),
    Who: (each) => each.by ?? h("span", { class: "dim" }, WHO[each.origin]),
    What: (each) => Object.entries(each.changes).map(([field, pair]) => changeWords(field, pair)).join(", "),
  }, "Nobody has changed it.");

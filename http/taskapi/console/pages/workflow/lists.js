// The steps as a table: on a phone, and for those who prefer it to the graph. And what has happened, newest first.
import { h } from "../../core/dom.js";
import { clock, duration, exactTime, number, plural } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { link, row, status, table } from "../../parts/basics.js";
import { countTasks, describe, secondsOf } from "./steps.js";

const MOST = 200; // events

export const stepList = ({ steps }, selected, select) =>
  table({ class: "step-list" }, ["Step", "Status", "Tasks", "Took", "After"], steps.map((step) => stepRow(step, step.key === selected.key, select)));

function stepRow(step, isSelected, select) {
  const { all, ended } = countTasks(step);
  const took = secondsOf(step);
  return row(
    step.key,
    [
      h("button", { type: "button", class: "plain", "aria-pressed": String(isSelected), onclick: () => select(step.key) }, step.key),
      h("div", { class: "faint" }, describe(step)),
    ],
    status(step.status),
    all > 1 ? `${number(ended)} of ${number(all)}` : all || "–",
    duration(took),
    step.after.join(", "),
  );
}

export function history(workflow, events) {
  return h(
    "ol",
    { class: "history", tabindex: 0, "aria-label": "History, newest first" },
    events
      .slice(-MOST)
      .reverse()
      .map(({ n, kind, data, at }) =>
        h(
          "li",
          { key: n, class: `s-${data.to}` },
          h("time", { datetime: at, title: exactTime(at) }, clock(at)),
          h(
            "div",
            null,
            kind === "step" ? link(linkTo(`/workflows/${workflow.workflow_id}`, { step: data.step }), data.step) : h("b", null, "Workflow"),
            " ",
            h("span", { class: "to" }, data.to),
            say(data),
          ),
        ),
      ),
    events.length > MOST && h("li", { key: "older", class: "dim" }, `and ${plural(events.length - MOST, "older event")}`),
  );
}

function say({ error, by, note, reason, tasks }) {
  const parts = [by && `by ${by}`, note, tasks > 1 && plural(tasks, "task"), error && `${error.type}: ${error.message}`, reason];
  const text = parts.filter(Boolean).join(" · ");
  return text && h("p", null, text);
}

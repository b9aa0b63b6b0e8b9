// The steps as a table: on a phone, and for those who prefer it to the graph. And what has happened, newest first.
import { clock, duration, exactTime, h, join, number, plural } from "../../core.js";
import { button, row, status, table } from "../../parts.js";
import { countTasks, describe, secondsOf, stepLinks } from "./steps.js";

const MOST = 200; // events

export const stepList = ({ steps }, selected, select) =>
  table({ class: "step-list", "aria-label": "Steps" }, ["Step", "Status", "Tasks", "Took", "After"], steps.map((step) => stepRow(step, step.key === selected.key, select)));

function stepRow(step, isSelected, select) {
  const { all, ended } = countTasks(step);
  const took = secondsOf(step);
  return row(
    step.key,
    [
      button(step.key, () => select(step.key), { class: "plain", "aria-pressed": String(isSelected) }),
      h("div.faint", describe(step)),
    ],
    status(step.status),
    all > 1 ? `${number(ended)} of ${number(all)}` : all || "–",
    duration(took),
    step.after.join(", "),
  );
}

export function history(workflow, events) {
  return h(
    "ol.history",
    { tabindex: 0, "aria-label": "History, newest first" },
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
            kind === "step" ? stepLinks(workflow.workflow_id, [data.step]) : h("b", "Workflow"),
            " ",
            h("span.to", data.to),
            say(data),
          ),
        ),
      ),
    events.length > MOST && h("li.dim", { key: "older" }, `and ${plural(events.length - MOST, "older event")}`),
  );
}

function say({ error, by, note, reason, tasks }) {
  const text = join([by && `by ${by}`, note, tasks > 1 && plural(tasks, "task"), error && `${error.type}: ${error.message}`, reason], " · ");
  return text && h("p", text);
}

// A row of the list of tasks.
import { h } from "../../core/dom.js";
import { duration, number, shortId } from "../../core/format.js";
import { goTo, linkTo } from "../../core/router.js";
import { link, meter, status } from "../../parts/basics.js";
import { moment } from "../../parts/moment-text.js";

export const COLUMNS = ["Status", "Task", "Queue", "Tenant, target", "Progress", "Attempt", "Age"];

/** `pick`: the cell of its checkbox, if rows can be selected. */
export function taskRow(task, { index, isCurrent, isSelected, pick }) {
  const name = task.agent ?? task.actor;
  const open = (event) => {
    if (!event.target.closest("a, input, label") && !getSelection().toString()) goTo(`/tasks/${task.id}`);
  };
  return h(
    "tr",
    {
      key: task.id,
      class: ["task", isCurrent && "current", task.isGone && "gone"],
      "aria-rowindex": index + 2,
      "aria-selected": isSelected && "true",
      data: { id: task.id },
      onclick: open,
    },
    pick && h("td", { class: "pick" }, pick),
    h("td", null, task.cancel_requested ? h("span", { class: "chip s-canceled" }, "stopping") : status(task.status)),
    twoLines(link(linkTo(`/tasks/${task.id}`), name, { class: "name" }), [h("span.narrow", moment(task.created_at), " "), h("code", null, shortId(task.id))], `${name} ${task.id}`),
    twoLines(task.queue, task.lane === "retry" && "retry lane", task.queue, "wide"),
    twoLines(task.tenant ?? "", task.target, [task.tenant, task.target].filter(Boolean).join(", "), "wide"),
    h("td", { class: "what" }, h("div", null, ...what(task))),
    h("td", { class: ["num", "wide"] }, `${number(task.attempt)}/${number(task.max_attempts)}`),
    h("td", { class: ["num", "age"] }, moment(task.created_at)),
  );
}

const twoLines = (first, second, title, also) =>
  h("td", { class: also }, h("div", { title }, first), second && h("div", { class: "faint", title }, second));

/** What it does, or why it does not. */
function what(task) {
  const { waiting } = task;
  switch (task.status) {
    case "waiting": {
      const place = [waiting?.reason, waiting && `place ${number(waiting.position)}`, waiting?.eta_seconds && `about ${duration(waiting.eta_seconds)}`];
      return [h("div", null, "at ", h("code", null, waiting?.gate)), faint(place.filter(Boolean).join(", "))];
    }
    case "scheduled":
      return [h("div", null, task.lane === "retry" ? "tries again " : "starts ", moment(task.available_at)), faint(task.error)];
    case "running":
      return [
        task.percent === null ? h("div", null, "for ", h("span", null, moment(task.started_at))) : meter(task.percent, 100, { label: "Progress" }),
        faint(task.message),
      ];
    case "completed":
      return [faint(task.started_at && `took ${duration((Date.parse(task.finished_at) - Date.parse(task.started_at)) / 1000)}`)];
    default:
      return [faint(task.error ?? (["canceled", "queued"].includes(task.status) ? "" : task.message))];
  }
}

const faint = (text) => text && h("div", { class: "faint", title: text }, text);

// What is known of a task besides its life: where it belongs, what it has used, its payload and its result.
import { h } from "../../core/dom.js";
import { duration, number, plural } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { card, code, facts, link } from "../../parts/basics.js";
import { showGate } from "../../parts/gate-links.js";
import "../../parts/json-tree.js";
import { moment } from "../../parts/moment-text.js";
import { linkToTask } from "./waiting.js";

const TASK = /^tq_[0-9a-f]{32}$/;

/** `first`: the data of the first event, which says where the task comes from. */
export function showFacts(task, first) {
  const { payload, usage, tenant, target, workflow_id: workflow, gates } = task;
  const parent = first.previous_run_id ?? payload.task_id;
  const project = task.actor === "project_run" && payload.project_id;
  return card(
    { title: "Facts", key: "facts", class: "about" },
    facts([
      ["Queue", `${task.queue} · ${task.lane} lane · priority ${task.priority}`],
      ["Gates", gates.length > 0 && gates.map((key, index) => [index > 0 && " · ", showGate(key)])],
      ["Used", (usage.tokens > 0 || usage.cost > 0) && [usage.tokens > 0 && plural(usage.tokens, "token"), usage.cost > 0 && `$${usage.cost.toPrecision(2)}`].filter(Boolean).join(" · ") + (task.attempt > 1 ? " over all attempts" : "")],
      ["Workflow", workflow && link(linkTo(`/workflows/${workflow}`, { task: task.task_id }), code(workflow))],
      ["Project", project && [link(linkTo(`/projects/${project}`), code(project)), payload.title && ` · ${payload.title}`]],
      ["Schedule", first.schedule_id && link(linkTo("/schedules"), code(first.schedule_id))],
      ["Follows", TASK.test(parent) && linkToTask(parent)],
      ["Target", target && link(linkTo("/targets"), target)],
      ["Tenant", tenant],
      ["Dedup key", task.dedup_key],
      ["Submitted", moment(task.created_at)],
      ["Started", task.started_at && moment(task.started_at)],
      ["Ended", task.finished_at && [moment(task.finished_at), task.started_at && ` · ran ${duration((Date.parse(task.finished_at) - Date.parse(task.started_at)) / 1000)}`]],
      ["Worker", task.worker_id && code(task.worker_id)],
      ["Epoch", task.epoch > 0 && `${number(task.epoch)}: how often it was started`],
    ]),
  );
}

export const showJson = (title, value) =>
  value !== null && value !== undefined && card({ title, key: title, class: title.toLowerCase() }, h("json-tree", { props: { value } }));

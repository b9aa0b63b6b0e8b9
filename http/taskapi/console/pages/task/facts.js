// What else is known of a task: where it belongs, and what it has used.
import { duration, join, linkTo, plural, secondsBetween } from "../../core.js";
import { card, code, facts, link, linkToTask, moment, showGate } from "../../parts.js";

/** `origin`: the data of the first event, which says where the task comes from. */
export function showFacts(task, origin) {
  const { actor, payload, usage, workflow_id: workflow, target, gates, started_at: started, finished_at: finished } = task;
  const before = origin.previous_run_id ?? (actor === "webhook" && payload.task_id);
  const used = [usage.tokens > 0 && plural(usage.tokens, "token"), usage.cost > 0 && `$${Number(usage.cost.toPrecision(3))}`];
  return card(
    { title: "Facts", key: "facts", class: "about" },
    facts([
      ["Queue", `${task.queue} · ${task.lane} lane · priority ${task.priority}`],
      ["Gates", gates.length > 0 && gates.map((key, index) => [index > 0 && " · ", showGate(key)])],
      ["Used", join(used, " · ")],
      ["Workflow", workflow && link(linkTo(`/workflows/${workflow}`, { task: task.task_id }), code(workflow))],
      ["Project", actor === "project_run" && [link(`/projects/${payload.project_id}`, code(payload.project_id)), " ", payload.title]],
      ["Schedule", origin.schedule_id && link(linkTo("/schedules", { id: origin.schedule_id }), code(origin.schedule_id))],
      ["Comes from", before && linkToTask(before)],
      ["Target", target && link(linkTo("/targets", { q: target }), target)],
      ["Tenant", task.tenant],
      ["Dedup key", task.dedup_key],
      ["Submitted", moment(task.created_at)],
      ["Started", started && moment(started)],
      ["Ended", finished && [moment(finished), started && `, ran ${duration(secondsBetween(started, finished))}`]],
      ["Worker", task.worker_id && code(task.worker_id)],
    ]),
  );
}

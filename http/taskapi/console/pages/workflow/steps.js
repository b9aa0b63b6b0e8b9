// What a step says of itself, in the graph, the list and its details.
import { duration, ENDED, linkTo, plural, secondsBetween } from "../../core.js";
import { link } from "../../parts.js";

const FAILED = ["dead", "rejected", "expired"];

export const hasFailed = (step) => FAILED.includes(step.status);
export const stepPath = (workflow, step) => `/workflows/${workflow.workflow_id}/steps/${encodeURIComponent(step.key)}`;

/** Links to steps by their keys. */
export const stepLinks = (workflowId, keys) =>
  keys.map((key, index) => [index > 0 && ", ", link(linkTo(`/workflows/${workflowId}`, { step: key }), key)]);

/** "draft, pictures and 3 more" */
export const nameAll = (steps) => {
  const names = steps.slice(0, 4).map(({ key }) => key).join(", ");
  return steps.length > 4 ? `${names} and ${steps.length - 4} more` : names;
};

/** The seconds that a step has taken, or null if it has not begun. */
export const secondsOf = (step) => (step.started_at ? secondsBetween(step.started_at, step.finished_at) : null);

/** {all, ended, dead} tasks of a step. */
export function countTasks({ task_counts: counts }) {
  const sum = (names) => names.reduce((total, name) => total + (counts[name] ?? 0), 0);
  return { all: sum(Object.keys(counts)), ended: sum(ENDED), dead: counts.dead ?? 0 };
}

/** In a few words, what is going on. */
export function describe(step) {
  if (step.decision) return `${step.decision} by ${step.decided_by}`;
  if (step.kind === "approval") return { waiting: "waits for a decision", expired: "not decided in time" }[step.status] ?? "approval";
  const { all, ended, dead } = countTasks(step);
  if (all <= 1 && hasFailed(step)) return step.error.type;
  const what = all > 1 ? `${ended} of ${plural(all, "task")}` + (dead ? `, ${dead} dead` : "") : `${step.agent_name} / ${step.task_type}`;
  return step.started_at ? `${what} · ${duration(secondsOf(step))}` : what;
}

/** The step that a person should look at: what waits or runs, or has stopped the workflow, else the last one that has ended. */
export function findCurrent({ status: its, steps }) {
  const isAt = (status) => steps.find((step) => step.status === status);
  const last = (before, step) => (step.finished_at && !(Date.parse(before?.finished_at) > Date.parse(step.finished_at)) ? step : before);
  const failed = its === "running" ? null : steps.find(hasFailed);
  return failed ?? isAt("waiting") ?? isAt("running") ?? steps.reduce(last, null) ?? steps[0];
}

/** "3 of 5" */
export const progressText = (counts) => `${counts.completed ?? 0} of ${Object.values(counts).reduce((sum, count) => sum + count, 0)}`;

export function countSteps(steps) {
  const counts = {};
  for (const { status } of steps) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

// What projects are called, what the state of a queue means, and what can be done with it.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { h } from "../../core/dom.js";
import { linkTo } from "../../core/router.js";
import { chip } from "../../parts/basics.js";
import { moment, since } from "../../parts/moment-text.js";

export const projectPath = (id) => `/projects/${encodeURIComponent(id)}`;
export const queuePath = (id, verb) => `/projects/${encodeURIComponent(id)}/${verb}`;
export const itemPath = (item) => `${projectPath(item.project_id)}/items/${encodeURIComponent(item.item_id)}`;
export const taskLink = (id) => linkTo(`/tasks/${encodeURIComponent(id)}`);

export const PRIORITIES = ["critical", "high", "medium", "low"];

const MAY_RUN = "POST /projects/{project_id}/run";
const MAY_STOP = "POST /projects/{project_id}/queue/stop";
const MAY_FORCE = "POST /projects/{project_id}/queue/force-stop";

export const mayRun = () => caller.may(MAY_RUN);
export const mayStop = () => caller.may(MAY_STOP);
export const mayForce = () => caller.may(MAY_FORCE);

/** The state of a queue in a word and its color. */
export function queueChip(project) {
  const state = project.queue_state;
  if (state.paused) return chip("paused", "paused");
  if (state.should_stop) return chip("stopping", "waiting");
  if (state.is_running) return chip("Processing…", "running");
  if (state.last_error) return chip("failed", "dead");
  if (!state.started_at) return chip("not started", "queued");
  return project.items.pending ? chip("stopped", "canceled") : chip("done", "completed");
}

/** How long it has run, or when it has stopped. */
export function queueTime({ is_running, started_at, stopped_at }) {
  if (is_running) return since(started_at);
  return stopped_at ? moment(stopped_at) : "–";
}

/** Why the queue cannot be started now; null if it can. */
export function whyNotStart(project) {
  if (project.queue_state.is_running) return "The queue is already running.";
  return project.items.pending ? null : "No item is pending.";
}

const ITEM_TONES = { completed: "completed", failed: "dead", in_progress: "running", pending: "queued" };
export const ITEM_STATUSES = Object.keys(ITEM_TONES);
export const itemTone = (status) => ITEM_TONES[status] ?? "canceled";
export const itemWord = (status) => status.replace("_", " ");
export const itemChip = (status) => chip(itemWord(status), itemTone(status));

export const countItems = (items) => ITEM_STATUSES.reduce((sum, status) => sum + items[status], 0);

/** The items of a project as one bar, a piece for each status. */
export function stack(items) {
  const all = countItems(items);
  const parts = ITEM_STATUSES.filter((status) => items[status]);
  const label = parts.map((status) => `${items[status]} ${itemWord(status)}`).join(", ") || "no items";
  return h(
    "span",
    { class: "stack", role: "img", "aria-label": label, title: label },
    parts.map((status) => h("i", { key: status, class: `s-${itemTone(status)}`, style: { "flex-grow": items[status] / all } })),
  );
}

const BATCH = 100; // projects in one request

/** Starts ("run") or stops several queues. Returns an outcome for each. */
export async function actOnMany(verb, ids, body) {
  const outcomes = [];
  for (let from = 0; from < ids.length; from += BATCH) {
    const answer = await api.post(`/projects/batch/${verb}`, { ...body, project_ids: ids.slice(from, from + BATCH) });
    outcomes.push(...answer.items);
  }
  return outcomes;
}

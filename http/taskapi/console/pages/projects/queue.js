// What the states of queues and items mean, and the parts that show them.
import { caller, h } from "../../core.js";
import { button, chip, moment, since } from "../../parts.js";

export const TONES = { completed: "completed", failed: "dead", in_progress: "running", pending: "queued" };

export const projectPath = (id) => `/projects/${encodeURIComponent(id)}`;
export const itemPath = (item) => `${projectPath(item.project_id)}/items/${encodeURIComponent(item.item_id)}`;
export const may = (verb, method = "POST") => caller.may(`${method} /projects/{project_id}/${verb}`);
export const countItems = (items) => Object.keys(TONES).reduce((sum, name) => sum + items[name], 0);

/** The state of a queue in a word and its color. */
export function queueChip({ queue_state: state, items }) {
  if (state.paused) return chip("paused", "paused");
  if (state.should_stop) return chip("stopping", "waiting");
  if (state.is_running) return chip("Processing…", "running");
  if (state.last_error) return chip("failed", "dead");
  if (!state.started_at) return chip("not started", "queued");
  return items.pending ? chip("stopped", "canceled") : chip("done", "completed");
}

/** Its mode and for how long it has run, or when it has stopped. */
export const queueTime = ({ is_running, mode, started_at, stopped_at }) =>
  is_running ? [mode, " · ", since(started_at)] : stopped_at ? moment(stopped_at) : "–";

/** Why the queue cannot be started now; null if it can. */
export function whyNotStart({ queue_state: state, items }) {
  if (state.is_running) return "The queue is already running.";
  return items.pending ? null : "No item is pending.";
}

/** What became of an action, until somebody closes it: {title, tone, content}. */
export const showNotice = ({ title, tone, content }, close) =>
  h(
    "section",
    { key: "notice", class: `card verdict s-${tone}`, role: tone === "dead" ? "alert" : "status" },
    h("h2", title, button("Close", close, { class: "plain" })),
    content,
  );

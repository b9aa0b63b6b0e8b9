// Events of a task's history in words.
import { clock, duration, isGiven, join, words, writeJson } from "../../core.js";
import { code } from "../../parts.js";

const dots = (...texts) => join(texts, " · ");

export const shorten = (text) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

/** "vm-1:4121:6d4ded3e" → "vm-1:4121" */
export const workerName = (id) => id.split(":", 2).join(":");

export const describeProgress = ({ percent, message }) =>
  dots(isGiven(percent) && `${Math.round(percent)} %`, message && shorten(String(message)));

/** Returns {tone, what, detail}: what has happened, and what else is known about it. */
export function describeEvent({ kind, data }) {
  const { text, stage, request, by, ...more } = data;
  if (kind === "status") return describeMove(data);
  if (kind === "progress") return { what: describeProgress(data), detail: duration(data.elapsed_ms / 1000) };
  if (kind === "payload") return { tone: "scheduled", what: "payload edited" };
  if (kind === "part" && data.part) return { what: `part ${data.part} of ${data.of}`, detail: shorten(String(data.summary)) };
  if (kind === "control") {
    const rest = Object.entries(more).map(([name, value]) => `${words(name)} ${typeof value === "string" ? value : writeJson(value)}`);
    const what = stage === "requested" ? `${request} requested` : String(stage);
    return { tone: stage === "stopped" ? "canceled" : "waiting", what, detail: shorten(dots(by && `by ${by}`, ...rest)) };
  }
  return { what: words(kind), detail: shorten(typeof text === "string" ? text : writeJson(data)) };
}

function describeMove({ from, to, attempt, worker_id: worker, gate, reason, error, by, available_at: due, message, schedule_id: schedule }) {
  const detail = dots(error && shorten(`${error.type}: ${error.message}`), reason, message, by && `by ${by}`);
  const said = (what, more = detail) => ({ tone: to, what, detail: more });
  if (to === "waiting") return said([from ? "waits at " : "submitted, waits at ", code(gate)], reason);
  if (!from) return said(schedule ? "submitted by its schedule" : "submitted", dots(to !== "queued" && to, detail));
  if (to === "running") return said(`started, attempt ${attempt}`, worker && `on ${workerName(worker)}`);
  if (to === "scheduled") return said(due ? `failed, runs again at ${clock(due)}` : "failed, runs again");
  if (from === "waiting" && to === "queued" && gate) return said(["passed ", code(gate)]);
  if (to === "queued") return said(from === "running" ? "back in the queue" : from === "scheduled" && !reason ? "due" : "queued again");
  return said(to);
}

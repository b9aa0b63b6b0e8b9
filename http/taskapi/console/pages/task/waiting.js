// Why a task does not run, and what happens next, in words.
import { api, caller, duration, join, secondsSince } from "../../core.js";
import { link, linkToTask, moment, showGate } from "../../parts.js";

/** Reads the tasks that hold the gate at which a task waits, as far as the caller may know them. */
export async function readHolders({ task_id: id, tenant, target, waiting }, signal) {
  const gate = waiting?.gate ?? "";
  if (target && gate.startsWith("target:")) {
    const path = `/targets/${target.split("/").map(encodeURIComponent).join("/")}`;
    const { items } = await api.get(path, { tenant, limit: 1 }, { signal });
    return items.filter((each) => each.task_id !== id);
  }
  return caller.may("GET /gate-holders") ? (await api.get("/gate-holders", { gate, limit: 5 }, { signal })).items : [];
}

/** Returns {title, text} for a task that does not run, or is about to stop; null for others. */
export function explainWaiting(task, holders) {
  const { status, lane, attempt, max_attempts: most, error, updated_at: at, available_at: due, cancel_requested: asked } = task;
  const start = secondsSince(due) > 0 ? "now" : moment(due);
  const say = (title, ...text) => ({ title, text });
  if (status === "waiting" && task.waiting) return say("Waits", explainGate(task.waiting, holders));
  if (status === "scheduled" && lane === "primary") return say("Scheduled", "It is due ", start, ".");
  if (status === "scheduled") return say("Runs again", start, `: attempt ${attempt + 1} of ${most}${error ? " after " + error.type : ""}. Retry runs it at once.`);
  if (status === "queued" && secondsSince(at) < 5) return say("Ready", "It starts as soon as a worker has a free place.");
  if (status === "queued") return say("Ready", "since ", moment(at), ". No worker has a free place for it. ", caller.may("GET /workers") && link("/workers", "Workers"));
  if (status === "paused") return say("Paused", "since ", moment(at), ". It goes on where it was when it is resumed.");
  if (status !== "running" || !asked) return null;
  return say("Stopping", `A ${asked === "force" ? "force-stop" : asked} was requested; the receipt says how far it is.`);
}

const explainGate = ({ gate, reason, position, eta_seconds: eta }, holders) => [
  "at ",
  showGate(gate),
  ": ",
  join([reason, `place ${position} in the line`, eta > 0 && `about ${duration(Math.max(1, Math.round(eta)))} to go`]),
  ". ",
  holders.length > 0 && ["Before it: ", holders.map(({ task_id: id }, index) => [index > 0 && ", ", linkToTask(id)]), ". "],
  gate.startsWith("target:") && "A target runs one task at a time, in the order of arrival.",
  gate.startsWith("actor:") && "No worker knows this actor; the task is dead if none comes that does.",
];

// Why a task does not run, and what happens next, in words.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { duration, secondsSince, shortId } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { code, link } from "../../parts/basics.js";
import { showGate } from "../../parts/gate-links.js";
import { moment } from "../../parts/moment-text.js";

export const linkToTask = (id) => link(linkTo(`/tasks/${encodeURIComponent(id)}`), code(shortId(id)), { title: id });

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
  const { status, lane, attempt, max_attempts: most, error, updated_at: since, available_at: due, cancel_requested: asked } = task;
  const isDue = secondsSince(due) > 0;
  if (status === "waiting" && task.waiting) return { title: "Waits", text: explainGate(task.waiting, holders) };
  if (status === "scheduled" && lane === "primary") return { title: "Scheduled", text: ["It is due ", isDue ? "now" : moment(due), "."] };
  if (status === "scheduled") {
    const which = `attempt ${attempt + 1} of ${most}` + (error ? ` after ${error.type}` : "");
    return { title: "Runs again", text: [isDue ? "now" : moment(due), `: ${which}. Retry runs it at once.`] };
  }
  if (status === "queued" && secondsSince(since) < 5) return { title: "Ready", text: "It starts as soon as a worker has a free place." };
  if (status === "queued") return { title: "Ready", text: ["since ", moment(since), ". No worker has a free place for it. ", caller.may("GET /workers") && link(linkTo("/workers"), "Workers")] };
  if (status === "paused") return { title: "Paused", text: ["since ", moment(since), ". It goes on where it was when it is resumed."] };
  if (status !== "running" || !asked) return null;
  return { title: "Stopping", text: `A ${asked === "force" ? "force-stop" : asked} was requested; the receipt says how far it is.` };
}

const explainGate = ({ gate, reason, position, eta_seconds: eta }, holders) => [
  "at ",
  showGate(gate),
  ": ",
  [reason, `place ${position} in the line`, eta > 0 && `about ${duration(Math.max(1, Math.round(eta)))} to go`].filter(Boolean).join(", "),
  ". ",
  holders.length > 0 && ["Before it: ", holders.map(({ task_id: id }, index) => [index > 0 && ", ", linkToTask(id)]), ". "],
  gate.startsWith("target:") && "A target runs one task at a time, in the order of arrival.",
  gate.startsWith("actor:") && "No worker knows this actor; the task is dead if none comes that does.",
];

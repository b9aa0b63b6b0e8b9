// Why a task does not run, and what happens next, in words.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { h } from "../../core/dom.js";
import { duration, number, relative, secondsSince, shortId } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { code, link } from "../../parts/basics.js";
import { showGate } from "../../parts/gate-links.js";
import { moment } from "../../parts/moment-text.js";

export const linkToTask = (id) => link(linkTo(`/tasks/${id}`), code(shortId(id)), { title: id });

/** Reads the tasks that hold the gate at which a task waits, as far as the caller may know them. */
export async function readHolders(task, signal) {
  const gate = task.waiting?.gate;
  if (task.target && gate?.startsWith("target:") && caller.may("GET /targets/{target}")) {
    const path = `/targets/${task.target.split("/").map(encodeURIComponent).join("/")}`;
    const { items } = await api.get(path, { tenant: task.tenant, limit: 1 }, { signal });
    return items.filter((each) => each.task_id !== task.task_id);
  }
  if (!gate || !caller.may("GET /gate-holders")) return [];
  return (await api.get("/gate-holders", { gate, limit: 5 }, { signal })).items;
}

/** Returns {title, text, tone} for a task that does not run; null for others. */
export function explainWaiting(task, holders) {
  if (task.status === "waiting") return explainGate(task, holders);
  if (task.status === "scheduled") return explainDelay(task);
  if (task.status === "queued") return explainQueue(task);
  if (task.status === "paused") return { title: "Paused", text: ["since ", moment(task.updated_at), ". It keeps its checkpoint, and goes on when it is resumed."] };
  if (task.status === "running" && task.cancel_requested) {
    const asked = { pause: "A pause", cancel: "A cancel", force: "A force-stop" }[task.cancel_requested];
    return { title: "Stopping", text: `${asked} was requested. Its worker stops the code; the receipt says what has happened so far.` };
  }
  return null;
}

function explainGate({ waiting, target }, holders) {
  const { gate, reason, position, eta_seconds: eta } = waiting ?? {};
  const next = [
    position && `place ${number(position)} in the line`,
    eta !== null && eta !== undefined && `about ${duration(Math.max(1, Math.round(eta)))} to go`,
  ].filter(Boolean);
  return {
    title: "Waits",
    text: [
      "at ",
      gate ? showGate(gate) : "a gate",
      reason && `: ${reason}`,
      next.length > 0 && `; ${next.join(", ")}`,
      ". ",
      holders.length > 0 && ["Before it: ", holders.map((each, index) => [index > 0 && ", ", linkToTask(each.task_id), each.status && ` (${each.status})`]), ". "],
      gate?.startsWith("actor:") && "No worker knows this actor. It starts when one does, and is dead if none comes.",
      target && gate?.startsWith("target:") && "A target runs one task at a time, in the order of arrival.",
    ],
  };
}

function explainDelay({ available_at: due, lane, attempt, max_attempts: most, error }) {
  const late = secondsSince(due) > 0;
  const when = late ? "now" : relative(due);
  if (lane !== "retry") return { title: "Scheduled", text: ["It is due ", late ? "now" : moment(due), "."] };
  const why = error ? ` after ${error.type}` : "";
  return { title: "Runs again", text: [late ? when : moment(due), `: attempt ${attempt + 1} of ${most}${why}. Retry runs it now.`] };
}

function explainQueue({ updated_at: since, queue }) {
  if (secondsSince(since) < 5) return { title: "Ready", text: "It starts as soon as a worker has a free place." };
  const where = caller.may("GET /workers") ? [" ", link(linkTo("/workers"), "Look at the workers")] : null;
  return { title: "Ready", text: ["since ", moment(since), `. No worker has had a free place for the queue ${queue} yet.`, where] };
}

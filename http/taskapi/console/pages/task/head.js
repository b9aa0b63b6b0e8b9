// The top of a task's page: what it is, how far it is, why it does not run, and how a stop went.
import { duration, h, join, number, relative, secondsSince } from "../../core.js";
import { card, meter, notice, status } from "../../parts.js";
import { showError } from "./attempts.js";
import { showLine } from "./timeline.js";
import { explainWaiting } from "./waiting.js";
import { describeProgress, shorten, workerName } from "./words.js";

export function showHead({ actor, payload, status: state, attempt, max_attempts: most, worker_id: worker, started_at: started }, actions) {
  const running = worker && ` · on ${workerName(worker)} · ${duration(Math.max(0, secondsSince(started)))}`;
  return h(
    "div.head",
    { key: "head" },
    h("h1", actor === "agent" ? `${payload.agent_name} · ${payload.task_type}` : actor),
    status(state),
    attempt > 0 && h("span.dim", `attempt ${number(attempt)} of ${number(most)}`, running),
    h("div.acts", actions),
  );
}

export function showProgress({ status: state, epoch, progress, heartbeat_at: beat }) {
  if (!["running", "paused", "canceled"].includes(state) || !epoch) return null;
  const isKnown = typeof progress.percent === "number";
  return h(
    "div",
    { class: ["progress", !isKnown && "unknown"], key: "progress" },
    meter(isKnown ? progress.percent : 100, 100, { tone: state, label: isKnown ? "Progress" : "Progress is not known" }),
    h("p.dim", join([describeProgress(progress), beat && `lease renewed ${relative(beat)}`], " · ")),
  );
}

export function showWhy(task, holders) {
  const { status: state, error } = task;
  if (state === "dead" && error) {
    return h("div.problem", { role: "alert", key: "why" }, showError({ ...error, message: shorten(String(error.message)), traceback: null }));
  }
  const why = explainWaiting(task, holders);
  return why && notice(why.title, why.text, { key: "why" });
}

/** What became of the newest request to stop. `controls`: the events of kind control. */
export function showReceipt({ status: state }, controls) {
  const stages = controls.slice(controls.findLastIndex(({ data }) => data.stage === "requested"));
  if (!stages.length) return null;
  const note = stages.at(-1).data.stage === "stopped" ? "its code has stopped" : state === "running" ? "under way" : state;
  return card(
    { title: `Receipt of the ${stages[0].data.request}`, note, key: "receipt", class: "receipt" },
    h("ol.timeline", stages.map((event) => showLine([event]))),
  );
}

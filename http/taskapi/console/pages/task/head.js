// The top of a task's page: what it is, how far it is, why it does not run, and how a stop went.
import { h } from "../../core/dom.js";
import { clock, duration, exactTime, number, relative, secondsSince } from "../../core/format.js";
import { card, meter, status } from "../../parts/basics.js";
import { showError } from "./attempts.js";
import { shortWorker } from "./life.js";
import { explainWaiting } from "./waiting.js";
import { describeEvent, describeProgress } from "./words.js";

export function showHead(task, actions) {
  const { actor, payload, attempt, max_attempts: most, worker_id: worker, started_at: started } = task;
  const running = worker && ` · on ${shortWorker(worker)} · ${duration(Math.max(0, secondsSince(started)))}`;
  return h(
    "div",
    { class: "head", key: "head" },
    h("h1", null, actor === "agent" ? `${payload.agent_name} · ${payload.task_type}` : actor),
    status(task.status),
    attempt > 0 && h("span", { class: "dim" }, `attempt ${number(attempt)} of ${number(most)}`, running),
    h("div", { class: "acts" }, actions),
  );
}

export function showProgress({ status: state, epoch, progress, heartbeat_at: beat }) {
  if (!["running", "paused", "canceled"].includes(state) || !epoch) return null;
  const isKnown = progress.percent !== null && progress.percent !== undefined;
  return h(
    "div",
    { class: ["progress", !isKnown && "unknown"], key: "progress" },
    meter(isKnown ? progress.percent : 100, 100, { tone: state, label: isKnown ? "Progress" : "Progress is not known" }),
    h("p", { class: "dim" }, [describeProgress(progress), beat && `lease renewed ${relative(beat)}`].filter(Boolean).join(" · ")),
  );
}

export function showWhy(task, holders) {
  if (task.status === "dead" && task.error) {
    return h("div", { class: "problem", role: "alert", key: "why" }, showError({ ...task.error, traceback: null }));
  }
  const why = explainWaiting(task, holders);
  return why && h("div", { class: "notice", role: "status", key: "why" }, h("b", null, why.title), h("span", null, why.text));
}

/** What became of the newest request to pause or cancel. `controls`: the events of kind control. */
export function showReceipt(task, controls) {
  const begun = controls.findLastIndex(({ data }) => data.stage === "requested");
  if (begun < 0) return null;
  const stages = controls.slice(begun);
  const { request, stage } = { ...stages[0].data, stage: stages.at(-1).data.stage };
  const isOpen = task.status === "running" && task.cancel_requested;
  const end = isOpen ? "under way" : stage === "stopped" ? "its code has stopped" : task.status;
  return card(
    { title: `Receipt of the ${request}`, note: end, key: "receipt", class: "receipt" },
    h(
      "ol",
      { class: "timeline" },
      stages.map((event) => {
        const { tone, what, detail } = describeEvent(event);
        return h(
          "li",
          { key: event.n, class: `s-${tone}` },
          h("time", { datetime: event.at, title: exactTime(event.at) }, clock(event.at)),
          h("div", null, what, detail && h("span", { class: "faint" }, " ", detail)),
        );
      }),
    ),
  );
}

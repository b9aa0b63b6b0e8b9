// The buttons of a project's queue, and what they say afterwards.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { h } from "../../core/dom.js";
import { actionButton } from "../../parts/action-button.js";
import { code, link } from "../../parts/basics.js";
import { mayForce, mayRun, mayStop, queuePath, taskLink, whyNotStart } from "./queue.js";

/** The buttons. `say` shows a notice at the top of the page, `again` reads the project at once. */
export function queueActs(project, { say, again }) {
  const state = project.queue_state;
  const { is_running: running, should_stop: stopping, paused, current_run_id: run } = state;
  const why = whyNotStart(project);
  const act = (path, then) => async () => {
    try {
      say(then(await api.post(path)) ?? null);
    } catch (error) {
      say(refusal(error));
    } finally {
      again();
    }
  };
  const start = (mode) => () => startQueue(project.project_id, { mode }, { say, again });
  const here = (verb) => queuePath(project.project_id, verb);
  const control = (verb) => `/tasks/${encodeURIComponent(run)}/${verb}`;
  // A single run ends with its item anyway.
  const canStop = mayStop() && running && (state.mode === "loop" || !state.current_item_id);
  const canPause = running && caller.may("POST /tasks/{task_id}/pause");
  return [
    mayRun() && actionButton({ key: "play", label: "Play", tone: "primary", title: why ?? "Do the next item", disabled: why, act: start("single") }),
    mayRun() && actionButton({ key: "loop", label: "Loop", title: why ?? "Do all pending items, one after the other", disabled: why, act: start("loop") }),
    canPause && !paused && actionButton({ key: "pause", label: "Pause", title: "Interrupt the run; it keeps its item", disabled: stopping, act: act(control("pause"), () => null) }),
    canPause && paused && actionButton({ key: "resume", label: "Resume", tone: "primary", act: act(control("resume"), () => null) }),
    canStop &&
      actionButton({
        key: "stop", label: stopping ? "Stopping…" : "Stop", title: "Stop after the present item", disabled: stopping,
        act: act(here("queue/stop"), () => null),
      }),
    mayForce() &&
      running &&
      actionButton({
        key: "force", label: "Force-stop", tone: "danger", title: "Interrupt the present item",
        ask: askForce(project),
        act: act(here("queue/force-stop"), (answer) => forceReceipt(answer)),
      }),
  ];
}

/** Starts the queue. A refusal is shown at the top of the page. */
export async function startQueue(id, body, { say, again }) {
  try {
    await api.post(queuePath(id, "run"), body);
    say(null);
  } catch (error) {
    say(refusal(error));
  } finally {
    again();
  }
}

export const refusal = (error) => ({
  title: error.status === 0 ? "No answer" : error.error === "queue-already-running" ? "Not started: it is running already" : error.title || "Refused",
  tone: "dead",
  content: h(
    "p",
    null,
    error.message,
    " ",
    error.status === 0 ? "Whether it has begun, this page shows as soon as the server is back." : code(error.error),
    error.problem.task_id && [" ", link(taskLink(error.problem.task_id), "Open the live run")],
  ),
});

const askForce = (project) => ({
  title: `Force-stop ${project.name}?`,
  action: "Force-stop",
  text: [
    h("p", null, "The present item is interrupted and fails; its commands are killed with all their descendants. What it has paid for so far is lost."),
    project.queue_state.mode === "loop" && h("p", null, "Stop, instead, lets the item end and does not begin the next one."),
  ],
});

function forceReceipt({ success, killed_runs, still_running }) {
  return {
    title: success ? "Force-stopped: nothing is still running" : "Not everything has ended yet",
    tone: success ? "completed" : "waiting",
    content: h(
      "ul",
      null,
      killed_runs.map((id) => h("li", { key: id }, "Killed run ", link(taskLink(id), code(id)))),
      !killed_runs.length && success && h("li", null, "No run had to be killed."),
      still_running.map((each) =>
        h(
          "li",
          { key: each.sandbox_id ?? each.run_id },
          "Still running: ",
          each.sandbox_id ? ["sandbox ", code(each.sandbox_id), ` on ${each.host}, processes ${each.pids.join(", ")}`] : "the code of the run",
          " of ",
          link(taskLink(each.run_id), code(each.run_id)),
        ),
      ),
      !success && h("li", null, "Force-stop looks again."),
    ),
  };
}

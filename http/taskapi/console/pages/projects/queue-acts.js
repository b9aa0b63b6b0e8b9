// The buttons of a project's queue, and what they say afterwards.
import { api, caller, h } from "../../core.js";
import { actionButton, code, linkToTask } from "../../parts.js";
import { may, projectPath, whyNotStart } from "./queue.js";

/** `say` shows a notice, `again` reads at once. `brief`: only what a row of a list has room for. */
export function queueActs(project, { say, again }, brief = false) {
  const { is_running: running, should_stop: stopping, paused, mode, current_run_id: run, current_item_id: item } = project.queue_state;
  const why = whyNotStart(project);
  const here = projectPath(project.project_id);
  const button = (label, path, { body, done, ...more } = {}) => {
    const name = brief && `${label} ${project.name}`;
    return actionButton({ key: path + label, label, name, ...more, act: () => post(path, body, { say, again }, done) });
  };
  const start = (label, wanted, title) => button(label, `${here}/run`, { body: { mode: wanted }, disabled: why, title: why ?? title });
  const canPause = !brief && running && caller.may("POST /tasks/{task_id}/pause");
  const canStop = running && (mode === "loop" || !item); // a single run ends with its item anyway
  return [
    may("run") && [start("Play", "single", "Do the next item"), start("Loop", "loop", "Do all pending items, one after the other")],
    canPause && !paused && button("Pause", `/tasks/${run}/pause`, { disabled: stopping, title: "Interrupt the run, which keeps its item" }),
    canPause && paused && button("Resume", `/tasks/${run}/resume`),
    canStop && may("queue/stop") && button(stopping ? "Stopping…" : "Stop", `${here}/queue/stop`, { disabled: stopping, title: "Stop after the present item" }),
    !brief && running && may("queue/force-stop") &&
      button("Force-stop", `${here}/queue/force-stop`, { tone: "danger", ask: askForce(project), done: describeForce, title: "Interrupt the present item" }),
  ];
}

/** Sends an action. A refusal is a notice, and so is what `done` makes of the answer. */
export async function post(path, body, { say, again }, done = () => null) {
  try {
    say(done(await api.post(path, body)));
  } catch (error) {
    say(describeRefusal(error));
  } finally {
    again();
  }
}

function describeRefusal({ status, title, message, error, problem }) {
  const lost = status === 0;
  return {
    title: lost ? "No answer" : title || "Refused",
    tone: "dead",
    content: h(
      "p",
      message,
      lost ? " Whether it was done, this page shows when the server is back." : [" ", code(error)],
      problem.task_id && [" The live run: ", linkToTask(problem.task_id)],
    ),
  };
}

const askForce = ({ name, queue_state: { mode } }) => ({
  title: `Force-stop ${name}?`,
  action: "Force-stop",
  text: [
    h("p", "The present item is interrupted and fails. Its commands are killed, with all their descendants."),
    mode === "loop" && h("p", "Stop lets the item end, and does not begin the next one."),
  ],
});

function describeForce({ success, killed_runs: killed, still_running: left }) {
  return {
    title: success ? "Force-stopped: nothing is still running" : "Not everything has ended yet: force-stop looks again",
    tone: success ? "completed" : "waiting",
    content: h(
      "ul",
      killed.map((id) => h("li", { key: id }, "Killed: run ", linkToTask(id))),
      left.map((each) =>
        h(
          "li",
          { key: each.sandbox_id ?? "code" },
          "Still running: ",
          each.sandbox_id ? `processes ${each.pids.join(", ")} of sandbox ${each.sandbox_id} on ${each.host}` : "the code",
          " of run ",
          linkToTask(each.run_id),
        ),
      ),
      !killed.length && !left.length && h("li", "No run had to be killed."),
    ),
  };
}

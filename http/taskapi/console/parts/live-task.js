// A task as it goes on: its status, progress, text and pictures as they come, and at the end its result or its error.
import { api, caller, define, duration, ENDED, follow, h, join, View } from "../core.js";
import { actionButton } from "./action-button.js";
import { link, loading, meter, problem, status } from "./basics.js";
import { jsonTree } from "./json-tree.js";
import { moment } from "./moment-text.js";
import { showOutput } from "./output.js";

const MOST_PIECES = 3000;
const PAUSES = ["queued", "waiting", "scheduled"]; // statuses in which one asks why

class LiveTask extends View {
  #task = null;
  #pieces = { tokens: [], logs: [] }; // of the attempt that runs

  start() {
    const path = `/tasks/${encodeURIComponent(this.taskId)}`;
    const read = this.poll(async (signal) => {
      if (!this.#task || PAUSES.includes(this.#task.status)) this.#task = await api.get(path, {}, { signal });
    }, 2);
    this.own(
      follow(`${path}/stream`, {
        after: 0,
        onEvent: (kind, event) => this.#hear(kind, event, read),
        onError: (error) => {
          this.error = error;
          this.update();
        },
      }),
    );
  }

  #hear(kind, event, read) {
    if (kind === "done") {
      this.#task = event;
    } else if (kind === "token" || kind === "log") {
      const pieces = this.#pieces[`${kind}s`];
      pieces.push(event);
      if (pieces.length > MOST_PIECES) pieces.shift();
    } else if (kind === "status") {
      if (event.data.to === "running") this.#pieces = { tokens: [], logs: [] };
      if (this.#task && !ENDED.includes(event.data.to)) this.#task = { ...this.#task, status: event.data.to, waiting: null };
      read();
    } else if (kind === "progress" && this.#task) {
      this.#task = { ...this.#task, progress: event.data };
    }
    this.update();
  }

  content() {
    const task = this.#task;
    if (this.error) return problem(this.error);
    if (!task) return loading();
    const { percent, message } = task.progress;
    const isOver = ENDED.includes(task.status);
    const output = showOutput(task, this.#pieces);
    return h(
      "article.live-task",
      { "aria-label": `Task ${task.task_id}` },
      h(
        "header",
        h("b", task.payload?.agent_name ? `${task.payload.agent_name} · ${task.payload.task_type}` : task.actor),
        status(task.status),
        h("span.faint", moment(task.created_at)),
        link(`/tasks/${task.task_id}`, "Open the task"),
      ),
      task.status === "running" && typeof percent === "number" && meter(percent, 100, { label: `${Math.round(percent)} %` }),
      !isOver && h("p.dim", task.waiting ? describeWaiting(task.waiting) : message),
      task.error && h("p.field-error", `${task.error.type}: ${task.error.message}`),
      output,
      !output && task.status === "completed" && jsonTree(task.result),
      !isOver && caller.may("POST /tasks/{task_id}/cancel") && actionButton({ label: "Cancel", act: () => this.#cancel() }),
    );
  }

  #cancel() {
    return api.post(`/tasks/${encodeURIComponent(this.taskId)}/cancel`, {});
  }
}
define("live-task", LiveTask, "taskId");

function describeWaiting({ reason, gate, position, eta_seconds: eta }) {
  return join([gate ? `Waiting at ${gate}` : "Waiting", reason, position && `place ${position}`, eta && `about ${duration(eta)}`]);
}

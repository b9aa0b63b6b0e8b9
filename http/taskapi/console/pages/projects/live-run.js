// The run that is under way: its item, its progress, its text as it is written, and why it waits.
import { api, define, follow, h, View } from "../../core.js";
import { card, linkToTask, loading, status } from "../../parts.js";
import { showProgress } from "../task/head.js";
import { explainWaiting } from "../task/waiting.js";

const LONGEST = 3000; // characters of text

class LiveRun extends View {
  #task = null;
  #text = "";

  start() {
    const path = `/tasks/${this.runId}`;
    const again = this.poll(async (signal) => {
      this.#task = await api.get(path, {}, { signal });
    }, 5);
    const onEvent = (kind, { data }) => {
      if (kind === "token" || kind === "log") this.#text = (this.#text + data.text).slice(-LONGEST);
      else if (kind === "progress" && this.#task?.payload.title) this.#task.progress = data;
      else again();
      if (kind === "status") this.again(); // such as a pause, which the stream of the project does not tell
      this.update();
    };
    this.own(follow(`${path}/stream`, { onEvent }));
  }

  content() {
    const task = this.#task;
    if (!task) return card({ title: "Now" }, loading());
    const { title, agent_name, task_type } = task.payload;
    const why = explainWaiting(task, []);
    return card(
      { title: "Now", note: agent_name && `${agent_name} · ${task_type}` },
      h("p.present", h("b", title ?? "Taking an item"), status(task.status), linkToTask(this.runId)),
      showProgress(task),
      why && h("p.dim", h("b", why.title), " ", why.text),
      this.stopping && task.status === "running" && h("p.dim", "The queue stops after this item."),
      this.#text && h("pre", { key: "text", tabindex: 0, "aria-label": "Output" }, this.#text),
    );
  }
}
define("live-run", LiveRun, "runId", "stopping", "again");

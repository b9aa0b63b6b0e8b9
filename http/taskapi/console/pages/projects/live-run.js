// The run that is under way: its item, its progress and its output as they come, and why it waits.
import { api } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { duration, percent, plural } from "../../core/format.js";
import { follow } from "../../core/stream.js";
import { View, property } from "../../core/view.js";
import { card, link, loading, status } from "../../parts/basics.js";
import { taskLink } from "./queue.js";

const LONGEST = 4000; // characters of output

class LiveRun extends View {
  #task = null;
  #output = "";

  start() {
    const path = `/tasks/${encodeURIComponent(this.runId)}`;
    this.own(
      follow(`${path}/stream`, {
        onEvent: (kind, data) => {
          if (kind === "snapshot" || kind === "done") this.#task = data;
          else if (kind === "progress") this.#progress(data);
          else if (kind === "token" || kind === "log") this.#output = (this.#output + data.text).slice(-LONGEST);
          else if (kind === "status" || kind === "control") this.#again();
          this.update();
        },
      }),
    );
    this.#again = this.poll(async (signal) => {
      this.#task = await api.get(path, {}, { signal });
    }, 5);
  }
  #again = () => {};

  content() {
    const task = this.#task;
    if (!task) return card({ title: "Now" }, loading());
    const { title, agent_name, task_type } = task.payload;
    return card(
      { title: "Now", note: agent_name && `${agent_name} · ${task_type}` },
      h("p", { class: "present" }, h("b", null, title ?? "Beginning an item"), status(task.status), task.attempt > 1 && h("span", { class: "dim" }, `attempt ${task.attempt} of ${task.max_attempts}`)),
      bar(task),
      h("p", { class: "dim" }, this.#say(task), " ", link(taskLink(this.runId), "Open its task")),
      this.#output && h("pre", { class: "output", tabindex: 0, "aria-label": "Output" }, this.#output),
    );
  }

  #progress(data) {
    this.#task.progress = { ...this.#task.progress, ...data };
    if (!this.#task.payload.title) this.#again(); // it has taken its item
  }

  #say({ status: name, progress, waiting, cancel_requested: asked, payload: { title } }) {
    if (asked) return `Asked to ${asked === "pause" ? "pause" : "end"}; the worker stops it.`;
    if (this.stopping && name === "running") return "Stops after this item.";
    if (name === "waiting" && waiting) {
      const { gate, reason, position, eta_seconds: eta } = waiting;
      return [
        `Waiting at ${gate ?? reason}`,
        position && `place ${position}`,
        eta !== null && eta !== undefined && `about ${duration(eta)}`,
      ].filter(Boolean).join(", ");
    }
    if (name === "paused") return "Paused: it keeps its item until it is resumed.";
    if (name === "queued") return "Waits for a worker with a free place.";
    if (name === "scheduled") return "Will be tried again.";
    const message = progress.message === title ? "" : progress.message;
    return progress.percent ? `${Math.round(progress.percent)} % · ${message}` : message;
  }
}
property(LiveRun, "runId");
property(LiveRun, "stopping");
customElements.define("live-run", LiveRun);

/** A bar that is full at 100 %; it only shows that something is going on as long as nobody knows how far it is. */
function bar({ status: name, progress: { percent: done } }) {
  const known = name !== "running" || Boolean(done);
  return h(
    "div",
    { class: ["bar", !known && "unknown"], role: "progressbar", "aria-label": "Progress of the item", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": known && Math.round(done ?? 0) },
    h("i", { style: { width: known ? percent((done ?? 0) / 100).replace(" ", "") : "100%" } }),
  );
}

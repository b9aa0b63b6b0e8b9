// The items of a project in their order: how each ended and with what, and what can be done with it.
import { define, duration, h, number, readAll, secondsBetween, View, words, writeJson } from "../../core.js";
import { actionButton, card, chip, empty, jsonTree, link, loading, moment, moreButton, pills, problem } from "../../parts.js";
import { findContents, showContents } from "../../parts/output.js";
import { PRIORITIES } from "../../parts/work.js";
import { shorten } from "../task/words.js";
import { addItem } from "./item-dialog.js";
import { post } from "./queue-acts.js";
import { TONES, countItems, itemPath, may, projectPath } from "./queue.js";

const STEP = 100;
const PAUSE = 300; // ms between a change and the next read of the list

class ProjectItems extends View {
  #items = null;
  #most = STEP;
  #status = "";
  #timer = null;

  start() {
    this.again = this.poll((signal) => this.#load(signal), 30);
    this.own(() => clearTimeout(this.#timer));
  }

  changed(name, before) {
    if (name !== "changes" || before === undefined) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.again();
    }, PAUSE);
  }

  async #load(signal) {
    const status = this.#status;
    const items = await readAll(`${projectPath(this.project.project_id)}/items`, { status, limit: STEP }, { most: this.#most, signal });
    if (status === this.#status) this.#items = items;
  }

  content() {
    const [items, status] = [this.#items, this.#status];
    const counts = this.project.items;
    const choices = ["", ...Object.keys(TONES)].map((name) => [name, `${words(name) || "all"} ${number(name ? counts[name] : countItems(counts))}`]);
    const add = () => actionButton({ label: "Add item", act: () => addItem(this.project, this.tools) });
    return card(
      { title: "Items", note: may("items") && add() },
      this.error && problem(this.error),
      pills("Items by status", choices, status, (name) => this.#show(name, STEP)),
      items ? (items.length ? h("ol.items", items.map((item) => this.#row(item))) : this.#none()) : loading(),
      items?.length >= this.#most && moreButton(() => this.#show(status, this.#most + STEP)),
    );
  }

  #none() {
    if (this.#status) return empty(`No item is ${words(this.#status)}.`);
    return empty("No items yet.", "An item is one piece of work for an agent.", may("items") && " Add the first one, then start the queue.");
  }

  #show(status, most) {
    [this.#status, this.#most] = [status, most];
    this.again();
    this.update();
  }

  #row(item) {
    const { item_id: id, title, status, agent_name, task_type, priority, run_id: run, started_at: started, finished_at: finished } = item;
    return h(
      "li",
      { key: id, "aria-label": title },
      h("span.faint", number(item.position)),
      h("div.what", h("b", title), h("small", `${agent_name} · ${task_type} · ${PRIORITIES[priority]}`), showResult(item)),
      h("span", chip(words(status), TONES[status])),
      h(
        "small",
        finished ? [duration(secondsBetween(started, finished)), " · ", moment(finished)] : status === "in_progress" && moment(started),
        run && h("div", link(`/tasks/${run}`, "Task", { "aria-label": `Task of ${title}` })),
      ),
      h("span.acts", this.#acts(item)),
    );
  }

  #acts(item) {
    const { project, tools } = this;
    const running = project.queue_state.is_running;
    const button = (label, act, more) => actionButton({ key: label, label, name: `${label} ${item.title}`, act, ...more });
    const play = () => post(`${projectPath(project.project_id)}/run`, { mode: "single", item_id: item.item_id }, tools);
    return [
      item.status === "failed" && may("items/{item_id}/retry") &&
        button("Retry", () => post(`${itemPath(item)}/retry`, undefined, tools), { title: "Put it back: the next run can take it" }),
      item.status === "pending" && may("run") && button("Play", play, { disabled: running, title: running ? "The queue is already running." : "Do this item now" }),
    ];
  }
}
define("project-items", ProjectItems, "project", "changes", "tools");

function showResult({ status, result, error, title }) {
  if (status === "failed") return h("p.bad", h("b", error?.type), ` ${error?.message ?? ""}`);
  if (status !== "completed") return null;
  const contents = findContents(result);
  return contents.length ? showContents(contents, title) : h("details", h("summary", shorten(writeJson(result))), jsonTree(result));
}

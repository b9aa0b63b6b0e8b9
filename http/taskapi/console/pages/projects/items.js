// The items of a project in their order: how each ended and with what, and what can be done with it.
import { duration, h, linkTo, number, define, readAll, View, writeJson } from "../../core.js";
import { actionButton, card, chip, empty, jsonTree, link, loading, moment, problem } from "../../parts.js";
import { findContents } from "../../parts/output.js";
import { shorten } from "../task/words.js";
import { addItem } from "./item-dialog.js";
import { post } from "./queue-acts.js";
import { PRIORITIES, TONES, countItems, itemPath, itemWord, may, projectPath } from "./queue.js";

const STEP = 100;
const PAUSE = 300; // ms between a change and the next read of the list

class ProjectItems extends View {
  #items = null;
  #most = STEP;
  #status = "";
  #error = null;
  #timer = null;
  #read = () => {};

  start() {
    this.#read = this.poll((signal) => this.#load(signal), 30);
    this.own(() => clearTimeout(this.#timer));
  }

  changed(name, before) {
    if (name !== "changes" || before === undefined) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#read();
    }, PAUSE);
  }

  async #load(signal) {
    const status = this.#status;
    try {
      const items = await readAll(`${projectPath(this.project.project_id)}/items`, { status, limit: STEP }, { most: this.#most, signal });
      if (status === this.#status) [this.#items, this.#error] = [items, null];
    } catch (error) {
      if (error.status) this.#error = error;
      this.update();
      throw error;
    }
  }

  content() {
    const items = this.#items;
    const counts = this.project.items;
    const none = () => (this.#status ? empty(`No item is ${itemWord(this.#status)}.`) : empty("No items yet.", "An item is one piece of work for an agent.", may("items") && " Add the first one, then start the queue."));
    return card(
      { title: "Items", note: may("items") && h("button", { type: "button", onclick: () => addItem(this.project, this.tools) }, "Add item") },
      this.#error && problem(this.#error),
      h("div.by-status.pills", { role: "group", "aria-label": "Items by status" }, ["", ...Object.keys(TONES)].map((name) => this.#choice(name, name ? counts[name] : countItems(counts)))),
      items ? (items.length ? h("ol.items", items.map((item) => this.#row(item))) : none()) : loading(),
      items?.length >= this.#most && h("button", { type: "button", onclick: () => this.#show(this.#status, this.#most + STEP) }, "Show more"),
    );
  }

  #choice(name, count) {
    const pressed = String(this.#status === name);
    return h("button", { key: name, type: "button", "aria-pressed": pressed, onclick: () => this.#show(name, STEP) }, `${name ? itemWord(name) : "all"} ${number(count)}`);
  }

  #show(status, most) {
    [this.#status, this.#most] = [status, most];
    this.#read();
    this.update();
  }

  #row(item) {
    const { item_id: id, title, status, agent_name, task_type, priority, run_id: run, started_at: started, finished_at: finished } = item;
    return h(
      "li",
      { key: id, "aria-label": title },
      h("span.faint", number(item.position)),
      h("div.what", h("b", title), h("small", `${agent_name} · ${task_type} · ${PRIORITIES[priority]}`), showResult(item)),
      h("span", chip(itemWord(status), TONES[status])),
      h(
        "small",
        finished ? [duration((Date.parse(finished) - Date.parse(started)) / 1000), " · ", moment(finished)] : status === "in_progress" && moment(started),
        run && h("div", link(linkTo(`/tasks/${run}`), "Task", { "aria-label": `Task of ${title}` })),
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
  if (contents.length) return h("div.contents", contents.map((id) => h("media-content", { key: id, props: { contentId: id, label: title } })));
  return h("details", h("summary", shorten(writeJson(result))), jsonTree(result));
}

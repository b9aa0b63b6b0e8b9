// The items of a project in their order: how each ended and with what, and what can be done with it.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { h } from "../../core/dom.js";
import { duration, number } from "../../core/format.js";
import { View, property } from "../../core/view.js";
import { actionButton } from "../../parts/action-button.js";
import { card, empty, link, loading, problem } from "../../parts/basics.js";
import { moment } from "../../parts/moment-text.js";
import { toast } from "../../parts/toasts.js";
import { editItem } from "./item-dialog.js";
import { describeResult } from "./results.js";
import { startQueue } from "./queue-acts.js";
import { ITEM_STATUSES, PRIORITIES, countItems, itemChip, itemPath, itemWord, mayRun, projectPath, taskLink } from "./queue.js";

const STEP = 50;
const MAY_ADD = "POST /projects/{project_id}/items";
const MAY_RETRY = "POST /projects/{project_id}/items/{item_id}/retry";
const THROTTLE = 400; // ms between two reads of the list

class ProjectItems extends View {
  #items = null;
  #more = false;
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
    if (name !== "changes" || before === undefined || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#read();
    }, THROTTLE);
  }

  async #load(signal) {
    const path = `${projectPath(this.project.project_id)}/items`;
    const wanted = this.#status;
    const found = [];
    let cursor;
    try {
      do {
        const page = await api.get(path, { status: wanted, limit: Math.min(500, this.#most - found.length), cursor }, { signal });
        found.push(...page.items);
        cursor = page.next_cursor;
      } while (cursor && found.length < this.#most);
      this.#error = null;
    } catch (error) {
      if (error.status) this.#error = error;
      this.update();
      throw error;
    }
    if (wanted !== this.#status) return this.#read();
    this.#items = found;
    this.#more = Boolean(cursor);
  }

  content() {
    const counts = this.project.items;
    const add = caller.may(MAY_ADD) && h("button", { type: "button", onclick: () => this.#edit(null) }, "Add item");
    return card(
      { title: "Items", note: add },
      this.#error && problem(this.#error),
      countItems(counts) > 0 && this.#filter(counts),
      this.#items === null ? !this.#error && loading() : this.#items.length ? this.#list() : this.#none(),
      this.#more && h("button", { type: "button", class: "more", onclick: () => this.#showMore() }, "Show more items"),
    );
  }

  #none() {
    if (this.#status) return empty(`No item is ${itemWord(this.#status)}.`);
    return empty("No items yet.", "An item is one piece of work for an agent. ", caller.may(MAY_ADD) && "Add the first one; then start the queue.");
  }

  #filter(counts) {
    const all = [["", "all", countItems(counts)], ...ITEM_STATUSES.map((name) => [name, itemWord(name), counts[name]])];
    return h(
      "div",
      { class: "filter", role: "group", "aria-label": "Items by status" },
      all.map(([name, word, count]) =>
        h(
          "button",
          { key: word, type: "button", "aria-pressed": String(this.#status === name), onclick: () => this.#show(name) },
          `${word} ${number(count)}`,
        ),
      ),
    );
  }

  #show(status) {
    this.#status = status;
    this.#most = STEP;
    this.#read();
    this.update();
  }

  #showMore() {
    this.#most += STEP * 4;
    this.#read();
  }

  #list() {
    return h("ol", { class: "items" }, this.#items.map((item) => this.#row(item)));
  }

  #row(item) {
    const { item_id: id, title, status, agent_name, task_type, priority, run_id, runs, started_at, finished_at } = item;
    const took = finished_at && (Date.parse(finished_at) - Date.parse(started_at)) / 1000;
    return h(
      "li",
      { key: id, class: `item ${status}`, "aria-label": title },
      h("span", { class: "place" }, number(item.position)),
      h(
        "div",
        { class: "what" },
        h("div", { class: "title" }, title),
        h("small", null, `${agent_name} · ${task_type} · ${PRIORITIES[priority]}`, runs > 1 && ` · ${number(runs)} runs`),
        describeResult(item),
      ),
      h("span", { class: "state" }, itemChip(status)),
      h(
        "small",
        { class: "when" },
        took !== null && duration(took),
        finished_at && [h("br"), moment(finished_at)],
        status === "in_progress" && moment(started_at),
        run_id && [" ", link(taskLink(run_id), "task", { "aria-label": `Task of ${title}`, title: run_id, class: "text" })],
      ),
      h("span", { class: "acts" }, this.#acts(item)),
    );
  }

  #acts(item) {
    const running = this.project.queue_state.is_running;
    const label = (verb) => `${verb} ${item.title}`;
    return [
      item.status === "failed" &&
        caller.may(MAY_RETRY) &&
        actionButton({
          key: "retry", label: "Retry", title: "Put it back: the next run can take it", name: label("Retry"),
          act: () => this.#act(() => api.post(`${itemPath(item)}/retry`), `${item.title} is pending again.`),
        }),
      item.status === "pending" &&
        mayRun() &&
        actionButton({
          key: "play", label: "Play", title: running ? "The queue is already running." : "Do this item now", disabled: running, name: label("Play"),
          act: () => startQueue(item.project_id, { mode: "single", item_id: item.item_id }, { say: this.say, again: () => this.#refresh() }),
        }),
    ];
  }

  async #act(send, done) {
    try {
      await send();
      toast(done);
    } finally {
      this.#refresh();
    }
  }

  #refresh() {
    this.#read();
    this.again();
  }

  async #edit(item) {
    const made = await editItem(this.project, item);
    if (!made) return;
    toast(`${made.title}: added.`);
    this.#refresh();
  }
}
for (const name of ["project", "changes", "say", "again"]) property(ProjectItems, name);
customElements.define("project-items", ProjectItems);

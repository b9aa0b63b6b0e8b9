// A list of any length: only the rows on the screen are in the page.
import { urlOf } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { key } from "../../core/key.js";
import { linkTo } from "../../core/router.js";
import { View, property } from "../../core/view.js";
import { code, copyButton, empty, link, loading, problem } from "../../parts/basics.js";
import { moment } from "../../parts/moment-text.js";
import { toParameters } from "../../parts/task-filter.js";
import { LiveTasks } from "./live-tasks.js";
import { Selection } from "./selection.js";
import { COLUMNS, taskRow } from "./task-row.js";

const ROW = 46; // pixels, as in tasks.css
const BEYOND = 15; // rows above and below the screen
const SECONDS = 2;
const SECONDS_OF_TEXT = 6; // a search looks at thousands of tasks
let left = null; // the list that was left last, for who comes back to it: {place, tasks, current, top}

class TaskList extends View {
  #tasks = null;
  #again = () => {};
  #current = null; // an id
  #scrolled = 0; // pixels
  #top = 0; // where to scroll when the rows are shown
  #focus = false; // the current row gets the focus when it is shown
  #wish = false; // the user wants the held rows now
  #selection = new Selection(() => (this.update(), this.#again()));

  start() {
    const entry = globalThis.navigation?.currentEntry?.key; // of the browser's history
    const place = entry && [entry, key.text, this.query].join(); // with another key, other tasks
    const before = place && left?.place === place ? left : null;
    this.#tasks = before?.tasks ?? new LiveTasks(toParameters(this.filter));
    if (before) [this.#current, this.#top, this.#focus] = [before.current, before.top, true];
    this.own(() => (left = { place, tasks: this.#tasks, current: this.#current, top: this.#scrolled }));
    this.#again = this.poll((signal) => this.#refresh(signal), this.filter.text ? SECONDS_OF_TEXT : SECONDS);
    this.hear(window, "scroll", () => {
      this.#scrolled = scrollY;
      this.update();
    });
    this.hear(window, "resize", () => this.update());
    this.hear(window, "keydown", (event) => this.#press(event));
  }

  get #isHeld() {
    return this.paused || this.#top > 0 || this.#above > ROW || !this.#selection.isEmpty;
  }

  /** Pixels of rows above the screen. */
  get #above() {
    const body = this.querySelector("tbody");
    return body ? -body.getBoundingClientRect().top : 0;
  }

  get #window() {
    const count = this.#tasks.rows.length;
    const first = Math.max(0, Math.min(count, Math.floor(this.#above / ROW)) - BEYOND);
    return [first, Math.min(count, first + Math.ceil(innerHeight / ROW) + 2 * BEYOND)];
  }

  async #refresh(signal) {
    const hold = this.#isHeld && !this.#wish;
    const visible = this.#tasks.rows[this.#window[0] + BEYOND]?.id;
    try {
      if (!this.paused || !this.#tasks.isRead || this.#wish) await this.#tasks.refresh(signal, { hold, visible });
      else await this.#tasks.countNew(signal);
      this.#wish = false;
    } finally {
      this.update();
    }
  }

  content() {
    const { rows, hasMore, error, isRead } = this.#tasks;
    if (!isRead) return error ? problem(error) : loading();
    return h(
      "section",
      { class: "card tasks" },
      error && problem(error),
      this.#notice(),
      rows.length ? this.#table() : this.#nothing(),
      rows.length > 0 && h("p", { class: "faint foot" }, `${plural(rows.length, "task")}${hasMore ? " so far" : ""}`, this.#furtherSearch()),
      hasMore && !this.#tasks.searched && h("button", { type: "button", onclick: () => this.#readMore() }, "Load more"),
      rows.length > 0 && this.#selection.bar(toParameters(this.filter)),
    );
  }

  #notice() {
    const { held } = this.#tasks;
    return (
      held > 0 &&
      h("div", { class: "held", role: "status", key: "held" }, h("button", { class: "primary", type: "button", onclick: () => this.#showHeld() }, `${plural(held, "new task")}`))
    );
  }

  #table() {
    const { rows, hasMore } = this.#tasks;
    const [first, last] = this.#window;
    const selection = this.#selection;
    const canPick = selection.isPossible;
    const space = (count, key) => count > 0 && h("tr", { key, "aria-hidden": "true" }, h("td", { class: "space", style: { height: `${count * ROW}px` } }));
    return h(
      "table",
      { "aria-label": "Tasks", "aria-rowcount": hasMore ? -1 : rows.length + 1 },
      h("thead", null, h("tr", { "aria-rowindex": 1 }, canPick && h("th.pick", { scope: "col" }, selection.pickAll()), COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        null,
        space(first, "above"),
        rows.slice(first, last).map((task, at) => taskRow(task, { index: first + at, isCurrent: task.id === this.#current, isSelected: selection.has(task.id), pick: canPick && selection.pick(task) })),
        space(rows.length - last, "below"),
      ),
    );
  }

  #nothing() {
    if (this.query) {
      return empty("No task matches.", this.#furtherSearch() || "Those that match will appear here. ", " ", link(linkTo("/tasks"), "Show all tasks"));
    }
    const curl = `curl ${urlOf("/tasks")} --json '{"actor": "summarize", "payload": {"content": "One. Two. Three."}}'`;
    return empty("No tasks yet.", link(linkTo("/submit"), "Submit the first"), " or send it from anywhere:", h("br"), code(curl), " ", copyButton("Copy", curl));
  }

  #furtherSearch() {
    const { searched, hasMore } = this.#tasks;
    if (!searched || !hasMore) return null;
    return [
      ` The newest ${number(searched.tasks)} were searched, back to `,
      moment(searched.until),
      ". ",
      h("button", { type: "button", onclick: () => this.#readMore() }, "Search older ones"),
    ];
  }

  shown() {
    const { rows } = this.#tasks;
    if (this.#top) {
      scrollTo(0, this.#top);
      this.#top = 0;
      return this.update();
    }
    if (this.#focus) {
      this.querySelector("tr.current a")?.focus({ preventScroll: true });
      this.#focus = false;
    }
    const [, last] = this.#window;
    if (rows.length && rows.length - last < BEYOND && this.#above > 0 && !this.filter.text) this.#readMore();
  }

  async #readMore() {
    try {
      await this.#tasks.readMore();
    } catch {
      // The list shows what is wrong, and the button is still there.
    }
    this.update();
  }

  #showHeld() {
    this.#wish = true;
    scrollTo({ top: 0 });
    this.#again();
  }

  #press(event) {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const step = { j: 1, k: -1 }[event.key];
    const { rows } = this.#tasks;
    if (event.key === "x" && this.#current) this.#selection.toggle(this.#current);
    if (!step || !rows.length) return;
    const at = rows.findIndex(({ id }) => id === this.#current);
    const index = Math.max(0, Math.min(rows.length - 1, at + step));
    this.#current = rows[index].id;
    const top = this.querySelector("tbody").getBoundingClientRect().top + index * ROW;
    if (top < 60) scrollBy({ top: top - 60 });
    else if (top > innerHeight - 2 * ROW) scrollBy({ top: top - innerHeight + 2 * ROW });
    this.#focus = true;
    this.update();
  }
}
for (const name of ["query", "filter", "paused"]) property(TaskList, name);
customElements.define("task-list", TaskList);

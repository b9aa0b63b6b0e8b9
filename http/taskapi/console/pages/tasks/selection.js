// The tasks of a list that are selected: some of them, or all that match its filter; and what can be done with them.
import { caller, h, plural } from "../../core.js";
import { button, toast } from "../../parts.js";
import { ACTIONS, actOnMany } from "./bulk-action.js";

const MOST = 500; // that the server takes by their ids

export class Selection {
  #ids = new Set();
  #all = false;
  #changed;

  /** changed() is called after each change. */
  constructor(changed) {
    this.#changed = changed;
  }

  get isPossible() {
    return caller.may("POST /tasks/bulk");
  }

  get isEmpty() {
    return !this.#all && !this.#ids.size;
  }

  has(id) {
    return this.#all || this.#ids.has(id);
  }

  toggle(id) {
    if (!this.isPossible || this.#all) return;
    if (!this.#ids.delete(id)) {
      if (this.#ids.size < MOST) this.#ids.add(id);
      else toast(`No more than ${MOST} can be selected one by one. Select all that match.`, { tone: "waiting" });
    }
    this.#changed();
  }

  #set(all) {
    this.#ids.clear();
    this.#all = all;
    this.#changed();
  }

  /** The checkbox of a task. */
  pick = ({ id }) =>
    h("label", h("input", { type: "checkbox", "aria-label": `Select ${id}`, checked: this.has(id), disabled: this.#all, onchange: () => this.toggle(id) }));

  pickAll() {
    const onchange = (event) => this.#set(event.target.checked);
    return h("input", { type: "checkbox", "aria-label": "Select all that match", title: "Select all that match", checked: this.#all, indeterminate: this.#ids.size > 0, onchange });
  }

  /** What is selected, and the buttons. `filter`: the parameters of the list. */
  bar(filter) {
    if (this.isEmpty) return null;
    const chosen = this.#all ? { filter, all: true } : { ids: [...this.#ids] };
    const act = async (name) => {
      if (await actOnMany(name, chosen)) this.#set(false);
    };
    return h(
      "div.chosen",
      { key: "chosen", role: "group", "aria-label": "Selected tasks" },
      h("span", { role: "status" }, this.#all ? "All tasks that match are selected" : `${plural(this.#ids.size, "task")} selected`),
      Object.entries(ACTIONS).map(([name, { label, tone }]) => button(`${label}…`, () => act(name), { class: tone })),
      button("Clear", () => this.#set(false), { class: "plain" }),
    );
  }
}

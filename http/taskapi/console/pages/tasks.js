// The list of tasks that the filter in the address asks for.
import { currentAddress, define, h, linkTo, number, STATUSES, View } from "../core.js";
import { button, counts, pageHead, problem } from "../parts.js";
import { parseFilter, withQualifier } from "../parts/task-filter.js";
import "./tasks/task-list.js";

const readQuery = () => (currentAddress().query.get("q") ?? "").trim();

class TasksPage extends View {
  #query = readQuery();
  #paused = false;

  start() {
    this.hear(counts, "change", () => this.update());
    this.hear(window, "hashchange", () => this.#read());
  }

  #read() {
    if (currentAddress().path !== "/tasks") return;
    this.#query = readQuery();
    this.update();
  }

  content() {
    const filter = parseFilter(this.#query);
    const toggle = () => {
      this.#paused = !this.#paused;
      this.update();
    };
    return [
      pageHead(
        "Tasks",
        button(this.#paused ? "Paused: go on" : "Pause", toggle, { key: "pause", "aria-pressed": String(this.#paused) }),
      ),
      filter.errors.length
        ? problem({ title: "This filter cannot be understood.", message: filter.errors.map((each) => each.error).join(" ") })
        : [
            this.#tabs(filter),
            h("task-list", { key: this.#query, props: { query: this.#query, filter, paused: this.#paused } }),
          ],
    ];
  }

  #tabs({ filters }) {
    // The counts are those of all tasks.
    const isAlone = !withQualifier(this.#query, "status", null);
    return h(
      "nav.tabs",
      { "aria-label": "Statuses" },
      ["", ...STATUSES].map((name) =>
        h(
          "a",
          {
            key: name,
            class: name ? `s-${name}` : undefined,
            href: linkTo("/tasks", { q: withQualifier(this.#query, "status", name) }),
            "aria-current": (filters.status ?? "") === name && "true",
          },
          name || "all",
          isAlone && name && counts.status && h("span", number(counts.status.states[name])),
        ),
      ),
    );
  }
}
define("tasks-page", TasksPage);

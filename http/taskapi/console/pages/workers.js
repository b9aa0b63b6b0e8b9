// Worker processes: their places, what each runs, and whether they are alive.
import { api } from "../core/api.js";
import { h } from "../core/dom.js";
import { duration, plural } from "../core/format.js";
import { linkTo } from "../core/router.js";
import { View, property } from "../core/view.js";
import { card, chip, code, empty, facts, link, loading, meter, pageHead, places, problem, row, table } from "../parts/basics.js";
import { counts } from "../parts/counts.js";
import { since } from "../parts/moment-text.js";
import { linkToTask } from "./task/waiting.js";

const FEW = 5; // tasks that are shown of each
const SLOW = 10; // seconds without a pulse that are worth a color

class WorkersPage extends View {
  #workers = null;
  #error = null;
  #whole = new Set(); // workers of which all tasks are shown

  start() {
    this.hear(counts, "change", () => this.update());
    this.poll(async (signal) => {
      try {
        [this.#workers, this.#error] = [(await api.get("/workers", {}, { signal })).items, null];
      } catch (error) {
        if (error.status) this.#error = error;
        this.update();
        throw error;
      }
    }, 2);
  }

  content() {
    const all = this.#workers;
    return [
      pageHead("Workers", all?.length > 0 && h("span", { class: "dim" }, summarize(all))),
      this.#error && problem(this.#error),
      all && all.length === 0 && card({}, this.#none()),
      all ? h("div", { class: "grid" }, all.map((each) => this.#card(each))) : !this.#error && loading(),
    ];
  }

  #none() {
    const lined = counts.status?.states.queued;
    return empty(
      "No worker is running.",
      lined > 0 && `${plural(lined, "task")} cannot start. `,
      "Start some: ", code("callboard up"), " runs everything on one machine, ", code("dramatiq actors"), " only workers.",
    );
  }

  #card(worker) {
    const { id, host, pid, threads, coroutines, threads_busy: busy, coroutines_busy: active, silent_seconds: silent } = worker;
    const version = worker.version ?? "unknown";
    return card(
      { key: id, span: 6, class: "worker-card" },
      h("h2", null, h("span", { title: id }, `${host} · ${pid}`), h("span", null, marks(worker))),
      facts([
        ["Threads", h("span", { class: "use" }, places([{ busy, all: threads, name: "threads", tone: "running" }]), h("span", null, `${busy} / ${threads}`))],
        ["Coroutines", coroutines > 0 && h("span", { class: "use" }, meter(active, coroutines, { label: `${active} of ${coroutines} coroutines` }), h("span", null, `${active} / ${coroutines}`))],
        ["Pulse", h("span", { class: silent > SLOW && "bad" }, silent < 1 ? "just now" : `${silent < 60 ? `${Math.round(silent)} s` : duration(silent)} ago`)],
        ["Runs since", [since(worker.started_at), `, version ${version}`]],
        ["Queues", worker.queues.join(", ")],
      ]),
      this.#tasks(worker),
    );
  }

  #tasks({ id, host, tasks, running }) {
    if (!tasks.length) return h("p", { class: "faint" }, "It runs nothing at the moment.");
    const shown = this.#whole.has(id) ? tasks : tasks.slice(0, FEW);
    const showAll = () => {
      this.#whole.add(id);
      this.update();
    };
    return [
      table({ "aria-label": `Tasks of ${host}` }, ["Task", "Kind", "In a", "For"], shown.map((task) =>
        row(
          task.task_id,
          linkToTask(task.task_id),
          [task.agent_name ?? task.actor, task.cancel_requested && [" ", chip("stopping", "waiting")]],
          task.place,
          since(task.started_at),
        ))),
      running > shown.length &&
        (shown.length < tasks.length
          ? h("button", { type: "button", class: "more", onclick: showAll }, `Show ${plural(tasks.length - FEW, "more task")}`)
          : link(linkTo("/tasks", { q: "status:running" }), "All tasks that run")),
    ];
  }
}
property(WorkersPage, "parameters");
customElements.define("workers-page", WorkersPage);

const marks = ({ alive, stopping_at: stopping, maintainer }) => [
  !alive && h("span", { title: "Its tasks go to other workers." }, chip("lost", "dead")),
  stopping && h("span", { title: "It finishes what it runs, and takes no more." }, chip("shutting down", "waiting")),
  maintainer && h("span", { title: "It does the housekeeping of all workers." }, chip("maintainer", "scheduled")),
];

const sum = (all, name) => all.reduce((total, each) => total + each[name], 0);

function summarize(all) {
  const versions = new Set(all.map((each) => each.version)).size;
  const hosts = new Set(all.map((each) => each.host)).size;
  const tasks = plural(sum(all, "running"), "task");
  return `${plural(all.length, "process", "processes")} on ${plural(hosts, "host")} · ${tasks} running${versions > 1 ? ` · ${versions} versions` : ""}`;
}

// Worker processes: their places, what each runs, and whether they are alive.
import { api, define, duration, h, join, linkTo, plural, View } from "../core.js";
import { card, chip, code, counts, empty, facts, link, linkToTask, loading, meter, moreButton, pageHead, places, problem, row, since, table } from "../parts.js";

const FEW = 5; // tasks that are shown of each
const SLOW = 10; // seconds without a pulse that are worth a color

class WorkersPage extends View {
  #workers = null;
  #whole = new Set(); // workers of which all tasks are shown

  start() {
    this.hear(counts, "change", () => this.update());
    this.poll(async (signal) => {
      this.#workers = (await api.get("/workers", {}, { signal })).items;
    }, 2);
  }

  content() {
    const all = this.#workers;
    return [
      pageHead("Workers", all?.length > 0 && h("span.dim", summarize(all))),
      this.error && problem(this.error),
      all ? (all.length ? h("div.grid", all.map((each) => this.#card(each))) : card({}, this.#none())) : !this.error && loading(),
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
    const age = silent < 60 ? `${Math.round(silent)} s` : duration(silent);
    return card(
      { key: id, span: 6, class: "worker-card" },
      h("h2", h("span", { title: id }, `${host} · ${pid}`), h("span", marks(worker))),
      facts([
        ["Threads", use(places([{ busy, all: threads, name: "threads", tone: "running" }]), busy, threads)],
        ["Coroutines", coroutines > 0 && use(meter(active, coroutines, { label: `${active} of ${coroutines} coroutines` }), active, coroutines)],
        ["Pulse", h("span", { class: silent > SLOW && "bad" }, silent < 1 ? "just now" : `${age} ago`)],
        ["Runs since", [since(worker.started_at), `, version ${version}`]],
        ["Queues", worker.queues.join(", ")],
      ]),
      this.#tasks(worker),
    );
  }

  #tasks({ id, host, tasks, running }) {
    if (!tasks.length) return h("p.faint", "It runs nothing at the moment.");
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
          ? moreButton(showAll, `Show ${plural(tasks.length - FEW, "more task")}`)
          : link(linkTo("/tasks", { q: "status:running" }), "All tasks that run")),
    ];
  }
}
define("workers-page", WorkersPage);

const use = (picture, busy, all) => h("span.use", picture, h("span", `${busy} / ${all}`));

const marks = ({ alive, stopping_at: stopping, maintainer }) => [
  !alive && h("span", { title: "Its tasks go to other workers." }, chip("lost", "dead")),
  stopping && h("span", { title: "It finishes what it runs, and takes no more." }, chip("shutting down", "waiting")),
  maintainer && h("span", { title: "It does the housekeeping of all workers." }, chip("maintainer", "scheduled")),
];

const sum = (all, name) => all.reduce((total, each) => total + each[name], 0);

function summarize(all) {
  const versions = new Set(all.map((each) => each.version)).size;
  const hosts = new Set(all.map((each) => each.host)).size;
  const processes = `${plural(all.length, "process", "processes")} on ${plural(hosts, "host")}`;
  return join([processes, `${plural(sum(all, "running"), "task")} running`, versions > 1 && `${versions} versions`], " · ");
}

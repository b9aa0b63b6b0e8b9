// One project: its queue, the run that is under way, its statistics and its items, live.
import { api, define, duration, follow, h, number, plural, View } from "../core.js";
import { card, crumbs, empty, facts, loading, moment, problem, stack } from "../parts.js";
import "./projects/items.js";
import "./projects/live-run.js";
import { queueActs } from "./projects/queue-acts.js";
import { may, projectPath, queueChip, queueTime, showNotice } from "./projects/queue.js";

class ProjectPage extends View {
  #project = null;
  #statistics = null;
  #changes = 0; // events of the stream
  #notice = null;
  #tools = { say: (notice) => this.#say(notice), again: () => this.again() };

  start() {
    const path = projectPath(this.parameters.id);
    this.again = this.poll(async (signal) => {
      const read = (each) => api.get(path + each, {}, { signal });
      [this.#project, this.#statistics] = await Promise.all([read(""), read("/queue/statistics")]);
    }, 15);
    const onEvent = () => {
      this.#changes += 1;
      this.again();
    };
    this.own(follow(`${path}/queue/stream`, { onEvent, onError: () => this.again() }));
  }

  #say(notice) {
    this.#notice = notice;
    this.update();
  }

  content() {
    const project = this.#project;
    const error = this.error && problem(this.error);
    const path = crumbs("Projects", "/projects", this.parameters.id);
    if (!project) return [path, error || loading()];
    const { is_running: running, mode, current_run_id: runId, should_stop: stopping } = project.queue_state;
    const count = this.#statistics.runs_since_start;
    return [
      path,
      h(
        "div.head",
        h("h1", project.name),
        queueChip(project),
        running && h("span.dim.how", queueTime(project.queue_state), mode === "loop" && ` · run ${number(count)}`),
        h("div.acts", { role: "group", "aria-label": "The queue" }, queueActs(project, this.#tools)),
      ),
      error,
      this.#notice && showNotice(this.#notice, () => this.#say(null)),
      stack(project.items),
      h(
        "div.grid",
        h("div.span-8.now", running ? h("live-run", { key: runId, props: { runId, stopping, again: this.#tools.again } }) : showRest(project)),
        showStatistics(this.#statistics),
        h("project-items", { key: "items", props: { project, changes: this.#changes, tools: this.#tools } }),
      ),
    ];
  }
}
define("project-page", ProjectPage);

function showRest({ queue_state: { last_error: error, stopped_at: stopped }, items }) {
  return card(
    { title: "Now", key: "rest" },
    error && problem({ title: "The last run died.", message: error }),
    empty(
      "Nothing is running.",
      stopped ? ["Stopped ", moment(stopped), ". "] : "It was never started. ",
      may("run") && (items.pending ? "Play does the next item, Loop all that are pending." : "Add items, or put failed ones back."),
    ),
  );
}

const showStatistics = (all) =>
  card(
    { title: "Statistics", note: plural(all.runs, "ended run"), span: 4 },
    facts([
      ["Succeeded", number(all.completed)],
      ["Failed", number(all.failed)],
      ["Canceled", number(all.canceled)],
      ["Average", duration(all.average_seconds)],
      ["Altogether", duration(all.total_seconds)],
      ["Tokens", all.tokens > 0 && number(all.tokens)],
      ["Cost", all.cost > 0 && `$${all.cost.toFixed(4)}`],
      ["Stopped", all.stops.length > 0 && all.stops.map((each) => h("div", { key: each.reason }, `${each.reason} (${number(each.count)})`))],
    ]),
  );

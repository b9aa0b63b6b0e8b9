// One project: its queue, the run that is under way, its items and its runs, live.
import { api } from "../core/api.js";
import { caller } from "../core/caller.js";
import { h } from "../core/dom.js";
import { duration, number, plural } from "../core/format.js";
import { linkTo } from "../core/router.js";
import { follow } from "../core/stream.js";
import { View, property } from "../core/view.js";
import { card, chip, code, empty, facts, link, loading, problem, status } from "../parts/basics.js";
import { moment, since } from "../parts/moment-text.js";
import "./projects/items.js";
import "./projects/live-run.js";
import { queueActs } from "./projects/queue-acts.js";
import { ITEM_STATUSES, countItems, itemTone, itemWord, projectPath, queueChip, stack, taskLink } from "./projects/queue.js";

const SECONDS = 15; // a look besides the stream
const RUNS = 8;

class ProjectPage extends View {
  #project = null;
  #statistics = null;
  #runs = [];
  #changes = 0; // events of the stream: the list of items is read again
  #error = null;
  #notice = null; // {title, tone, content}: what became of the last action
  #again = () => {};

  get #path() {
    return projectPath(this.parameters.id);
  }

  start() {
    this.#again = this.poll((signal) => this.#read(signal), SECONDS);
    this.own(
      follow(`${this.#path}/queue/stream`, {
        onEvent: (kind, data) => {
          if (kind === "snapshot") this.#project = data;
          this.#changes += 1;
          this.#again();
          this.update();
        },
        onError: (error) => this.#fail(error),
      }),
    );
  }

  async #read(signal) {
    const get = (path, query) => api.get(this.#path + path, query, { signal });
    try {
      const [project, statistics, runs] = await Promise.all([get(""), get("/queue/statistics"), get("/runs", { limit: RUNS })]);
      this.#project = project;
      this.#statistics = statistics;
      this.#runs = runs.items;
      this.#error = null;
    } catch (error) {
      if (error.status) this.#fail(error);
      throw error;
    }
  }

  #fail(error) {
    this.#error = error;
    this.update();
  }

  content() {
    const project = this.#project;
    const crumbs = h("div", { class: "crumbs" }, link(linkTo("/projects"), "Projects"), " / ", code(this.parameters.id));
    if (!project) return [crumbs, this.#error ? problem(this.#error) : loading()];
    return [
      crumbs,
      h("div", { class: "head" }, h("h1", null, project.name), queueChip(project), this.#how(), this.#acts()),
      this.#error && problem(this.#error),
      this.#notice && this.#showNotice(),
      h("div", { class: "whole" }, stack(project.items), h("div", { class: "legend" }, this.#legend())),
      h(
        "div",
        { class: "grid" },
        this.#now(),
        this.#showStatistics(),
        h("project-items", {
          key: "items",
          props: { project, changes: this.#changes, say: (notice) => this.#say(notice), again: () => this.#again() },
        }),
        this.#showRuns(),
      ),
    ];
  }

  #how() {
    const { is_running: running, mode, started_at } = this.#project.queue_state;
    if (!running) return null;
    const count = this.#statistics?.runs_since_start;
    return h("span", { class: "dim how" }, mode, " · ", since(started_at), mode === "loop" && count ? ` · run ${number(count)}` : "");
  }

  #acts() {
    const acts = queueActs(this.#project, { say: (notice) => this.#say(notice), again: () => this.#again() });
    return h("div", { class: "acts", role: "group", "aria-label": "The queue" }, acts);
  }

  #say(notice) {
    this.#notice = notice;
    this.update();
  }

  #showNotice() {
    const { title, tone, content } = this.#notice;
    const close = () => this.#say(null);
    return h(
      "section",
      { key: "notice", class: ["card", "receipt", `s-${tone}`], role: tone === "dead" ? "alert" : "status" },
      h("h2", null, title, h("button", { type: "button", class: "plain", onclick: close }, "Close")),
      content,
    );
  }

  #legend() {
    const items = this.#project.items;
    const all = countItems(items);
    if (!all) return "no items";
    return ITEM_STATUSES.filter((name) => items[name]).map((name) =>
      h("span", { key: name, class: `s-${itemTone(name)}` }, `${number(items[name])} ${itemWord(name)}`),
    );
  }

  #now() {
    const state = this.#project.queue_state;
    if (state.is_running) {
      return h("live-run", { key: state.current_run_id, class: "span-8", props: { runId: state.current_run_id, stopping: state.should_stop } });
    }
    const stops = this.#runs.find((run) => run.reason);
    return card(
      { title: "Now", span: 8, key: "now" },
      state.last_error && problem({ title: "The last run died.", message: state.last_error }),
      empty(
        "Nothing is running.",
        state.stopped_at ? ["Stopped ", moment(state.stopped_at), stops ? `: ${stops.reason}. ` : ". "] : "It was never started. ",
        caller.may("POST /projects/{project_id}/run") && (this.#project.items.pending ? "Play does the next item, Loop does all." : "Add items, or put failed ones back."),
      ),
    );
  }

  #showStatistics() {
    const all = this.#statistics;
    if (!all) return card({ title: "Statistics", span: 4, key: "statistics" }, loading());
    return card(
      { title: "Statistics", note: plural(all.runs, "ended run"), span: 4, key: "statistics" },
      facts([
        ["Succeeded", number(all.completed)],
        ["Failed", all.failed ? h("b", { class: "bad" }, number(all.failed)) : "0"],
        ["Canceled", number(all.canceled)],
        ["Average", duration(all.average_seconds)],
        ["Altogether", duration(all.total_seconds)],
        ["Cost", all.cost > 0 && `$${all.cost.toFixed(all.cost < 1 ? 4 : 2)}`],
        ["Tokens", all.tokens > 0 && number(all.tokens)],
        ["Stopped", all.stops.length > 0 && all.stops.map((each) => h("div", { key: each.reason }, `${number(each.count)} × ${each.reason}`))],
      ]),
    );
  }

  #showRuns() {
    const runs = this.#runs;
    return card(
      { title: "Runs", note: "newest first", span: 12, key: "runs" },
      runs.length
        ? h(
            "div",
            { class: "table" },
            h(
              "table",
              null,
              h("thead", null, h("tr", null, ["Run", "Item", "Mode", "Status", "Started", "Took", "Queue stopped"].map((name) => h("th", { key: name }, name)))),
              h("tbody", null, runs.map(runRow)),
            ),
          )
        : empty("No runs yet.", "Each item is done by a run, which is a task: its page has progress, attempts and history."),
    );
  }
}
property(ProjectPage, "parameters");
customElements.define("project-page", ProjectPage);

const runRow = (run) =>
  h(
    "tr",
    { key: run.run_id },
    h("td", null, link(taskLink(run.run_id), code(run.run_id))),
    h("td", { class: "wrap" }, run.title ?? "–"),
    h("td", { class: "dim" }, run.mode),
    h("td", null, run.outcome ?? run.status ? status(run.outcome ?? run.status) : chip("unknown")),
    h("td", { class: "dim" }, moment(run.started_at)),
    h("td", { class: "dim" }, duration(run.seconds)),
    h("td", { class: "dim" }, run.reason ?? (run.outcome ? "went on" : "")),
  );

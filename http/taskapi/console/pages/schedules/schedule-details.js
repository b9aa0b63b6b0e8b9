// What a schedule starts, when it is due next, and what became of its ticks.
import { api, define, h, plural, View } from "../../core.js";
import { button, chip, empty, facts, linkToTask, loading, moment, problem, row, status, table } from "../../parts.js";
import { PRIORITIES } from "../../parts/work.js";
import { schedulePath, showTick } from "./words.js";

const MOST = 200; // runs
const TONES = { started: "completed", skipped: "canceled", failed: "dead" };
const MISSED = { one: "one task for all of them", all: "a task for each", skip: "no task" };

class ScheduleDetails extends View {
  #runs = null;
  #limit = 8;

  start() {
    this.again = this.poll(async (signal) => {
      this.#runs = await api.get(`${schedulePath(this.schedule)}/runs`, { limit: this.#limit }, { signal });
    }, 3);
  }

  changed(name, before) {
    if (before?.runs !== this.schedule.runs) this.again?.();
  }

  content() {
    const { next_ticks: ticks, timezone: zone, payload, runs } = this.schedule;
    return [
      h(
        "div",
        h("h3", "Next runs"),
        ticks.length ? h("ol", ticks.map((at) => h("li", { key: at }, showTick(at, zone), moment(at)))) : h("p.dim", "None while it is paused."),
        h("h3", "How"),
        facts(describe(this.schedule)),
      ),
      h(
        "div",
        h("h3", "History", h("small", plural(runs, "run"))),
        this.error && problem(this.error),
        this.#runs ? this.#history(this.#runs) : !this.error && loading(),
        h("h3", "Payload"),
        h("json-tree", { props: { value: payload } }),
      ),
    ];
  }

  #history({ items, next_cursor: more }) {
    const showMore = () => {
      this.#limit = MOST;
      this.again();
    };
    if (!items.length) return empty("It has not run yet.");
    return [
      table({ "aria-label": `Runs of ${this.schedule.name}` }, ["When", "Outcome", "Task"], items.map((run) => this.#row(run))),
      more && this.#limit < MOST && button("Show more", showMore),
    ];
  }

  #row({ n, tick, outcome, task_id: id, task_status: its, missed, reason, asked_by: by, created_at: at }) {
    return row(
      n,
      [tick ? showTick(tick, this.schedule.timezone) : ["asked for", by && ` by ${by}`], h("small", moment(at))],
      [chip(outcome, TONES[outcome]), missed > 0 && h("small", `also for ${plural(missed, "missed tick")}`)],
      id ? [linkToTask(id), " ", status(its)] : h("span.dim", reason),
    );
  }
}
define("schedule-details", ScheduleDetails, "schedule");

const describe = ({ queue, priority, max_attempts: attempts, target, jitter_seconds: jitter, catch_up: missed, overlap, created_at: at, created_by: by, declared_in_code: declared }) => [
  ["Queue", `${queue}, ${PRIORITIES[priority]} priority`],
  ["Attempts", `up to ${attempts}`],
  ["Target", target],
  ["Jitter", jitter > 0 && `up to ${plural(jitter, "second")}`],
  ["Missed ticks", MISSED[missed]],
  ["Overlap", overlap === "skip" ? "waits until its last task has ended" : "allowed"],
  ["Created", [moment(at), by && ` by ${by}`, declared && ", declared in code: what is changed here stays so"]],
];

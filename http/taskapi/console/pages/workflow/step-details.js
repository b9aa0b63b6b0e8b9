// One step with all it has: what it takes and returns, its error, its tasks, and what can be done about it.
import { api, bytes, caller, define, duration, h, isGiven, number, plural, View } from "../../core.js";
import { actionButton, facts, jsonTree, linkToTask, moment, moreButton, pills, problem, row, status, table } from "../../parts.js";
import { DISMISS, RETRY, actOnDead, decisionButtons, mayDecide } from "./actions.js";
import { countTasks, hasFailed, secondsOf, stepLinks, stepPath } from "./steps.js";

const PAGE = 20; // tasks

/** `workflow`: without inputs and results; `step`: one of its steps; `done(workflow?)` is called when something was done. */
class StepDetails extends View {
  #whole = null; // the step with its input and result
  #tasks = [];
  #status = null; // of the tasks that are listed; null: all
  #most = PAGE;
  #isCut = false; // there are more tasks
  #known = ""; // what the step was like when it was read

  start() {
    this.again = this.poll((signal) => this.#read(signal), 2);
  }

  changed(name, before) {
    if (name !== "step") return;
    if (before?.key !== this.step.key) {
      [this.#whole, this.#tasks, this.#isCut, this.#known, this.#most] = [null, [], false, "", PAGE];
      this.#status = countTasks(this.step).dead ? "dead" : null;
    }
    if (describeState(this.step) !== this.#known) this.again?.();
  }

  async #read(signal) {
    const { step } = this;
    const state = describeState(step);
    if (state === this.#known && step.status !== "running") return;
    const path = stepPath(this.workflow, step);
    const query = { status: this.#status, limit: this.#most };
    const [whole, tasks] = await Promise.all([
      this.#whole?.status === step.status ? this.#whole : api.get(path, {}, { signal }),
      step.kind === "task" && api.get(`${path}/tasks`, query, { signal }),
    ]);
    if (step.key !== this.step.key) return;
    [this.#whole, this.#tasks, this.#isCut, this.#known] = [whole, tasks.items ?? [], Boolean(tasks.next_cursor), state];
  }

  #list(name, most = PAGE) {
    [this.#status, this.#most, this.#known] = [name, most, ""];
    this.again();
    this.update();
  }

  content() {
    const { step, workflow } = this;
    const { input, for_each: list, result, result_bytes: size } = this.#whole ?? {};
    const took = secondsOf(step);
    const name = (keys) => stepLinks(workflow.workflow_id, keys);
    const next = workflow.steps.filter(({ after }) => after.includes(step.key)).map(({ key }) => key);
    return [
      h("div.head", h("h2", step.key), status(step.status), h("div.acts", this.#buttons())),
      step.error && hasFailed(step) && problem({ title: step.error.type, message: step.error.message }),
      h(
        "div.step-columns",
        facts([
          ["Work", step.kind === "approval" ? "an approval: a person decides" : `${step.agent_name} / ${step.task_type}`],
          ["After", step.after.length > 0 && name(step.after)],
          ["Before", next.length > 0 && name(next)],
          ["Decision", step.decision && [`${step.decision} by ${step.decided_by}, `, moment(step.decided_at)]],
          ["Note", step.note],
          ["Started", step.started_at && moment(step.started_at)],
          ["Took", took !== null && `${duration(took)}${step.finished_at ? "" : " so far"}`],
          ["Expires", step.status === "waiting" && step.expires_at && moment(step.expires_at)],
          ["Priority", step.priority],
          ["Attempts", step.max_attempts && `up to ${number(step.max_attempts)}`],
        ]),
        step.kind === "task" && h("div", this.#taskList()),
      ),
      json("Input, as declared", input),
      json("For each of", list),
      json("Result", result),
      size > 0 && result === null && h("p.dim", `Its result has ${bytes(size)}: see its tasks.`),
    ];
  }

  #buttons() {
    const { step, workflow, done } = this;
    if (step.status === "waiting") return mayDecide() && decisionButtons(workflow, step, done);
    const { dead } = countTasks(step);
    if (!dead || workflow.status === "canceled") return null;
    const act = (verb) => () => actOnDead(workflow, [step], verb).finally(() => done());
    const tasks = plural(dead, "dead task");
    const text = `${tasks} will be canceled, and so is the step. What depends on it does not run; the rest goes on when the workflow is resumed.`;
    const ask = { title: `Give up ${step.key}?`, text, action: "Give up" };
    return [
      caller.may(RETRY) && actionButton({ key: "retry", label: `Retry ${tasks}`, act: act("retry") }),
      caller.may(DISMISS) && actionButton({ key: "dismiss", label: "Give up", tone: "danger", act: act("dismiss"), ask }),
    ];
  }

  #taskList() {
    const { step } = this;
    const { all } = countTasks(step);
    if (!all) return h("p.dim", step.status === "pending" ? "It starts when the steps before it are completed." : "It has no tasks.");
    const choices = [[null, all], ...Object.entries(step.task_counts)].map(([name, count]) => [name, `${name ?? "all"} ${number(count)}`]);
    return [
      all > 1 && pills("Tasks by status", choices, this.#status, (name) => this.#list(name)),
      table({ class: "step-tasks", "aria-label": "Tasks" }, ["Task", "Status", "Attempt", "What it says"], this.#tasks.map(taskRow)),
      this.#isCut && moreButton(() => this.#list(this.#status, Math.min(500, this.#most * 5))),
    ];
  }
}
define("step-details", StepDetails, "workflow", "step", "done");

const describeState = (step) => `${step.key} ${step.status} ${JSON.stringify(step.task_counts)}`;

const json = (title, value) =>
  isGiven(value) && h("div.step-json", { key: title }, h("h3", title), jsonTree(value));

function taskRow({ task_id: id, status: its, attempt, max_attempts: most, error, progress }) {
  const says = error && its !== "completed" ? `${error.type}: ${error.message}` : progress.message;
  const percent = its === "running" && progress.percent ? `${Math.round(progress.percent)} % ` : "";
  return row(
    id,
    h("td.id", linkToTask(id)),
    status(its),
    `${number(attempt)}/${number(most)}`,
    h("td.cut", { title: says }, percent, says),
  );
}

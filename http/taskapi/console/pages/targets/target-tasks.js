// The unfinished tasks of a target, in the order in which they run.
import { api, define, h, View } from "../../core.js";
import { linkToTask, loading, moment, problem, row, status, table } from "../../parts.js";
import { showActs, targetPath } from "./acts.js";

class TargetTasks extends View {
  #page = null;

  start() {
    this.read = this.poll(async (signal) => {
      const { target, tenant } = this.target;
      this.#page = await api.get(targetPath(target), { tenant, limit: 50 }, { signal });
    }, 3);
  }

  changed(name, before) {
    if (before?.task_id !== this.target.task_id) this.read?.();
  }

  content() {
    if (!this.#page) return this.error ? problem(this.error) : loading();
    const { items, next_cursor: more } = this.#page;
    return [
      table({ "aria-label": `Tasks of ${this.target.target}` }, ["", "Task", "Status", "Arrived", "Because", ""], items.map((task, index) => this.#row(task, index))),
      more && h("p.dim", "and more"),
    ];
  }

  #row(task, index) {
    const { task_id: id, error, status: its } = task;
    const isFirst = id === this.target.task_id;
    return row(
      id,
      index + 1,
      [linkToTask(id), h("small", task.agent_name ?? task.actor)],
      status(its),
      moment(task.created_at),
      h("td.dim", its === "dead" ? `${error.type}: ${error.message}` : task.waiting?.reason),
      h("td.acts", !isFirst && showActs(this.target, task, this.again)),
    );
  }
}
define("target-tasks", TargetTasks, "target", "again");

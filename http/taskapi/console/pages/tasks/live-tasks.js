// Tasks of a filter, newest first, as far as they are read; kept as they are now by reading again what is on the screen.
import { api } from "../../core.js";
import { noteValues } from "../../parts/task-filter.js";

const PAGE = 200;
const FIRST = "\uffff"; // after every id

export class LiveTasks {
  rows = [];
  held = 0; // new ones that are not shown yet
  searched = null; // of a text: how far the search came
  error = null;
  isRead = false;
  #parameters;
  #begins = [{ before: FIRST }]; // of pages: {cursor, before}
  #more = null; // the cursor of what comes after the last row
  #reading = false;

  constructor(parameters) {
    this.#parameters = parameters;
  }

  get hasMore() {
    return this.#more !== null;
  }

  /** Reads the newest ones again, and those at `visible`, an id. `hold`: no row comes or goes meanwhile. */
  async refresh(signal, { hold = false, visible = FIRST } = {}) {
    const begins = [this.#begins[0]];
    const at = this.#begins.findLast((each) => each.before > visible);
    if (at && at !== begins[0] && !this.#parameters.text) begins.push(at);
    for (const begin of begins) await this.#refreshPage(begin, signal, hold);
  }

  async #refreshPage({ cursor, before }, signal, hold) {
    const page = await this.#read({ cursor, limit: PAGE }, signal);
    const isFirst = before === FIRST;
    const items = page.items.map(summarize);
    const lowest = page.next_cursor === null ? "" : (items.at(-1)?.id ?? FIRST);
    if (isFirst && (!this.isRead || (!hold && lowest > (this.rows[0]?.id ?? "")))) {
      // Nothing is read yet, or so much is new that there would be a gap.
      this.rows = items;
      this.#begins = [{ before: FIRST }];
      this.#goOn(page);
      this.isRead = true;
      this.held = 0;
    } else if (hold) {
      this.#change(items, lowest, before);
      if (isFirst) this.held = items.filter(({ id }) => id > (this.rows[0]?.id ?? "")).length;
    } else {
      const others = this.rows.filter(({ id }) => id < lowest || id >= before);
      this.rows = [...others, ...items].sort((a, b) => (a.id < b.id ? 1 : -1));
      if (isFirst) this.held = 0;
      if (page.next_cursor === null) this.#goOn(page);
    }
  }

  /** Only counts what is new. */
  async countNew(signal) {
    const { items } = await this.#read({ limit: PAGE }, signal);
    this.held = items.filter(({ task_id }) => task_id > (this.rows[0]?.id ?? "")).length;
  }

  /** Changes rows in their places; those that do not fit the filter any more are marked. */
  #change(items, lowest, before) {
    const changed = new Map(items.map((each) => [each.id, each]));
    this.rows = this.rows.map((row) => {
      if (row.id < lowest || row.id >= before) return row;
      return changed.get(row.id) ?? { ...row, isGone: true };
    });
  }

  /** Reads what comes after the last row. */
  async readMore() {
    if (this.#reading || !this.hasMore) return;
    this.#reading = true;
    try {
      const begin = { cursor: this.#more, before: this.rows.at(-1)?.id ?? FIRST };
      const page = await this.#read({ cursor: this.#more, limit: 500 });
      if (begin.before !== FIRST) this.#begins.push(begin);
      this.rows = [...this.rows, ...page.items.map(summarize).filter(({ id }) => id < begin.before)];
      this.#goOn(page);
    } finally {
      this.#reading = false;
    }
  }

  #goOn(page) {
    this.#more = page.next_cursor;
    if (page.searched) {
      this.searched = { tasks: (this.isRead ? (this.searched?.tasks ?? 0) : 0) + page.searched.tasks, until: page.searched.until };
    }
  }

  async #read(query, signal) {
    try {
      const page = await api.get("/tasks", { ...this.#parameters, ...query }, { signal });
      this.error = null;
      return page;
    } catch (error) {
      if (!signal?.aborted && error.status) this.error = error; // a lost connection is said on top of the page
      throw error;
    }
  }
}

/** What a row shows; thousands of whole tasks would fill the memory. */
function summarize(task) {
  const { agent_name = null, task_type = null } = task.payload ?? {};
  const named = { agent_name, task_type: agent_name && task_type, error_type: task.error?.type };
  noteValues({ ...task, ...named });
  const { task_id: id, actor, queue, lane, status, tenant, target, attempt, max_attempts, waiting } = task;
  const { created_at, available_at, started_at, finished_at, cancel_requested } = task;
  return {
    ...{ id, actor, queue, lane, status, tenant, target, attempt, max_attempts, waiting },
    ...{ created_at, available_at, started_at, finished_at, cancel_requested },
    agent: typeof agent_name === "string" ? `${agent_name}/${task_type}` : null,
    error: task.error && `${task.error.type}: ${task.error.message}`.slice(0, 300),
    percent: task.progress.percent,
    message: task.progress.message?.slice(0, 300),
  };
}

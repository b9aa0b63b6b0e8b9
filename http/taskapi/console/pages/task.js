// A task: what it does now and why, where its time went, what it made, and everything that has happened to it.
import { api, connection, currentAddress, define, ENDED, follow, h, readAll, replaceQuery, View, writeJson } from "../core.js";
import { card, copyButton, crumbs, empty, jsonTree, link, loading, notice, problem, toast } from "../parts.js";
import { showOutput } from "../parts/output.js";
import { showActions } from "./task/actions.js";
import { showAttempts } from "./task/attempts.js";
import { showFacts } from "./task/facts.js";
import { showHead, showProgress, showReceipt, showWhy } from "./task/head.js";
import { PHONE } from "./task/flow.js";
import { History } from "./task/history.js";
import { showLife } from "./task/life.js";
import { showTimeline } from "./task/timeline.js";
import { readHolders } from "./task/waiting.js";

const PACE = 2; // seconds between two reads: what moves the task comes by the stream at once
const SLOW_PACE = 6; // of a finished task, or of one with a large payload
const LARGE = 100_000; // characters
const MOST = { status: 1000, control: 200, token: 3000, log: 3000 }; // events of a kind that are read at first

class TaskPage extends View {
  #path;
  #history;
  #task = null;
  #error = null; // why there is no task, or that it is gone
  #attempts = [];
  #holders = [];
  #createdBy = null; // what creates tasks of this actor, if callers cannot
  #detailsOf = ""; // the state of the task that was read with its details
  #size = 0; // of the payload
  #due = 0; // the moment of the next read
  #read;
  #stop = null; // ends the stream; null while there is none
  #last = null; // the number of the last event that the stream has sent
  #settledAt = null; // `updated_at` of the task when the stream ended
  #kind = currentAddress().query.get("kind") ?? "";
  #open = new Set(); // events whose data are shown
  #showsAll = false; // all attempts

  start() {
    this.#path = `/tasks/${encodeURIComponent(this.parameters.id)}`;
    this.#history = new History(`${this.#path}/events`);
    this.#read = this.poll((signal) => this.#turn(signal), PACE);
    this.hear(PHONE, "change", () => this.update());
    const timer = setInterval(() => document.hidden || this.update(), 1000);
    this.own(() => clearInterval(timer));
    this.own(() => this.#stop?.());
  }

  async #turn(signal) {
    if (Date.now() < this.#due) return;
    try {
      this.#take(await api.get(this.#path, {}, { signal }));
      if (this.#last !== null) await this.#readDetails(signal);
    } catch (error) {
      if (error.status === 404 || !this.#task) this.#error = error;
      this.update();
      throw error;
    }
    if (!this.isConnected) return;
    if (ENDED.includes(this.#task.status) || this.#size > LARGE) this.#due = Date.now() + 1000 * SLOW_PACE;
    if (!this.#stop && this.#task.updated_at !== this.#settledAt) this.#follow();
  }

  /** Keeps payload and result if they are as before: trees stay as somebody has opened them. */
  #take(task) {
    for (const name of ["payload", "result"]) {
      const text = writeJson(task[name]);
      if (this.#task && text === writeJson(this.#task[name])) task[name] = this.#task[name];
      if (name === "payload") this.#size = text.length;
    }
    [this.#task, this.#error] = [task, null];
    this.update();
  }

  #readNow() {
    this.#due = 0;
    this.#read();
  }

  #follow() {
    const settle = () => {
      this.#stop = null;
      this.#settledAt = this.#task.updated_at;
      this.#readNow();
    };
    const onEvent = (kind, data, id) => this.#hear(kind, data, Number(id));
    this.#stop = follow(`${this.#path}/stream`, { after: this.#last, onEvent, onEnd: settle, onError: settle });
  }

  #hear(kind, data, n) {
    this.#last = n;
    if (kind === "snapshot" || kind === "done") {
      this.#take(data);
    } else {
      this.#history.add(data);
      if (kind === "progress") this.#task.progress = data.data;
    }
    if (["snapshot", "done", "status", "control", "payload"].includes(kind)) this.#readNow();
    this.update();
  }

  /** Reads what the task itself does not say; again when it has moved. */
  async #readDetails(signal) {
    const [task, history] = [this.#task, this.#history];
    this.#holders = task.status === "waiting" ? await readHolders(task, signal) : [];
    const state = `${task.status} ${task.epoch} ${task.finished_at}`;
    if (state === this.#detailsOf) return;
    const readBack = (kind, from = 0) => history.readBack(kind, from, MOST[kind], signal);
    const [attempts, actors] = await Promise.all([
      readAll(`${this.#path}/attempts`, { limit: 500 }, { signal }),
      this.#createdBy === null && api.get("/actors", {}, { signal }),
      !(this.#kind in MOST) && !history.list(this.#kind) && history.readOlder(this.#kind, 100, signal),
      readBack("status"),
      readBack("control"),
    ]);
    this.#attempts = attempts;
    if (actors) this.#createdBy = actors.items.find((each) => each.name === task.actor)?.created_by ?? "";
    await Promise.all([readBack("token", this.#begun), readBack("log", this.#begun)]);
    this.#detailsOf = state;
  }

  get #moves() {
    return this.#history.list("status") ?? [];
  }

  /** The number of the event with which the last attempt began. */
  get #begun() {
    return this.#moves.findLast(({ data }) => data.to === "running")?.n ?? Infinity;
  }

  #choose(kind) {
    this.#kind = kind;
    replaceQuery(kind ? { kind } : {});
    if (!this.#history.list(kind)) this.#readOlder();
    this.update();
  }

  #readOlder() {
    this.#history.readOlder(this.#kind, 100).catch((error) => toast(error.message, { tone: "dead" })).finally(() => this.update());
  }

  content() {
    const task = this.#task;
    const isGone = this.#error?.status === 404;
    if (!task && isGone) return empty("There is no such task.", "It was removed, or belongs to another tenant. ", link("/tasks", "All tasks"));
    if (!task) return this.#error ? problem(this.#error) : loading();
    const moves = this.#moves;
    const showAll = () => {
      this.#showsAll = true;
      this.update();
    };
    return [
      crumbs("Tasks", "/tasks", task.task_id, " ", copyButton("Copy id", task.task_id)),
      isGone && notice("Removed", "Somebody has removed this task from the lists. Its history is kept.", { key: "gone" }),
      showHead(task, !isGone && showActions(task, (after) => this.#take(after) ?? this.#readNow(), this.#createdBy)),
      showProgress(task),
      showWhy(task, this.#holders),
      moves.length > 0 && showLife(task, moves, connection.now(), { isCut: this.#history.hasMore("status"), all: this.#showsAll, showAll }),
      h("div.columns", { key: "columns" }, this.#showWork(task), this.#showFacts(task)),
    ];
  }

  #showWork(task) {
    const begun = this.#begun;
    const pieces = (kind) => (this.#history.list(kind) ?? []).filter(({ n }) => n > begun);
    const toggle = (n) => {
      if (!this.#open.delete(n)) this.#open.add(n);
      this.update();
    };
    return h(
      "div",
      showOutput(task, { tokens: pieces("token"), logs: pieces("log") }),
      showReceipt(task, this.#history.list("control") ?? []),
      showAttempts(this.#attempts, task, this.#showsAll),
      showTimeline(this.#history, { kind: this.#kind, open: this.#open, choose: (kind) => this.#choose(kind), toggle, readMore: () => this.#readOlder() }),
    );
  }

  #showFacts(task) {
    const tree = (title, value) => value !== null && card({ title, key: title, class: title.toLowerCase() }, jsonTree(value));
    return h("div", showFacts(task, this.#history.first?.data ?? {}), tree("Payload", task.payload), tree("Result", task.result));
  }
}
define("task-page", TaskPage);

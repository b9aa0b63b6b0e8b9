// A task: what it does now and why, where its time went, what it made, and everything that has happened to it.
import { api } from "../core/api.js";
import { connection } from "../core/connection.js";
import { h } from "../core/dom.js";
import { writeJson } from "../core/json.js";
import { currentAddress, linkTo, replaceQuery } from "../core/router.js";
import { follow } from "../core/stream.js";
import { View, property } from "../core/view.js";
import { code, copyButton, empty, link, loading, problem } from "../parts/basics.js";
import { showOutput } from "../parts/output.js";
import { toast } from "../parts/toasts.js";
import { FINISHED, showActions } from "./task/actions.js";
import { showAttempts } from "./task/attempts.js";
import { showFacts, showJson } from "./task/facts.js";
import { showHead, showProgress, showReceipt, showWhy } from "./task/head.js";
import { History } from "./task/history.js";
import { showLife } from "./task/life.js";
import { showTimeline } from "./task/timeline.js";
import { readHolders } from "./task/waiting.js";

const PACE = 2; // seconds between two reads; what moves it comes by the stream at once
const SLOW_PACE = 6; // of a finished task, or one with a large payload
const LARGE = 100_000; // characters
const MOST_MOVES = 1000;
const MOST_PIECES = 3000;
const drafts = new Map(); // of edited payloads, by task

class TaskPage extends View {
  #path = "";
  #history = null;
  #task = null;
  #attempts = null;
  #holders = [];
  #error = null; // why there is no task, or that it is gone
  #createdBy = null; // what creates tasks of this actor, if callers cannot
  #due = 0; // the moment of the next read
  #read = null;
  #stop = null; // ends the stream; null while there is none
  #last = null; // the number of the last event that the stream has sent
  #settledAt = null; // `updated_at` of the task whose stream has ended
  #detailsOf = ""; // the state that the details belong to
  #kind = currentAddress().query.get("kind") ?? "";
  #open = new Set(); // events that show their data
  #allAttempts = false;

  start() {
    this.#path = `/tasks/${encodeURIComponent(this.parameters.id)}`;
    this.#history = new History(this.#path);
    this.#read = this.poll((signal) => this.#turn(signal), PACE);
    const clock = setInterval(() => document.hidden || this.update(), 1000);
    this.own(() => clearInterval(clock));
    this.own(() => this.#stop?.());
  }

  async #turn(signal) {
    if (Date.now() < this.#due) return;
    try {
      this.#take(await api.get(this.#path, {}, { signal }));
      if (this.#last !== null) await this.#readDetails(signal);
    } catch (error) {
      if (error.status === 404) this.#due = Date.now() + 1000 * SLOW_PACE;
      if (error.status === 404 || !this.#task) this.#error = error;
      this.update();
      throw error;
    }
    const isSlow = FINISHED.includes(this.#task.status) || this.#size > LARGE;
    this.#due = Date.now() + 1000 * (isSlow ? SLOW_PACE : 0);
    if (!this.#stop && this.#task.updated_at !== this.#settledAt) this.#follow();
  }

  #size = 0; // of the payload

  /** Keeps payload and result if they are as before: trees stay as somebody has opened them. */
  #take(task) {
    const before = this.#task;
    for (const name of ["payload", "result"]) {
      const text = before?.updated_at === task.updated_at ? null : writeJson(task[name]);
      if (name === "payload" && text !== null) this.#size = text.length;
      if (before && (text === null || text === writeJson(before[name]))) task[name] = before[name];
    }
    [this.#task, this.#error] = [task, null];
    this.update();
  }

  #readNow() {
    this.#due = 0;
    this.#read();
  }

  #follow() {
    this.#stop = follow(`${this.#path}/stream`, {
      after: this.#last,
      onEvent: (kind, data, id) => this.#hear(kind, data, Number(id)),
      onEnd: () => this.#settle(),
      onError: () => this.#settle(),
    });
  }

  #settle() {
    this.#stop = null;
    this.#settledAt = this.#task.updated_at;
    this.#readNow();
  }

  #hear(kind, data, n) {
    this.#last = n;
    if (kind === "snapshot" || kind === "done") {
      this.#take(data);
      this.#readNow();
      return;
    }
    this.#history.add(data);
    if (kind === "progress") this.#task.progress = { ...data.data, updated_at: data.at };
    if (["status", "control", "payload"].includes(kind)) this.#readNow();
    this.update();
  }

  /** Reads what the task itself does not say. After a move, or an attempt of it that failed, again. */
  async #readDetails(signal) {
    const task = this.#task;
    this.#holders = task.status === "waiting" ? await readHolders(task, signal) : [];
    const state = `${task.status} ${task.epoch} ${task.updated_at}`;
    if (state === this.#detailsOf) return;
    const history = this.#history;
    const [attempts, actors] = await Promise.all([
      api.get(`${this.#path}/attempts`, { limit: 500 }, { signal }),
      this.#createdBy ?? api.get("/actors", {}, { signal }),
      history.list(this.#kind) ?? history.readPage(this.#kind, { signal }),
      history.readBackTo(0, "status", { most: MOST_MOVES, signal }),
      history.readBackTo(0, "control", { most: 200, signal }),
    ]);
    this.#attempts = attempts.items;
    if (actors.items) this.#createdBy = actors.items.find((each) => each.name === task.actor)?.created_by ?? "";
    if (task.epoch) {
      const begun = this.#begun;
      await Promise.all(["token", "log"].map((kind) => history.readBackTo(begun, kind, { most: MOST_PIECES, signal })));
    }
    this.#detailsOf = state;
  }

  /** The number of the event with which the last attempt began. */
  get #begun() {
    return this.#moves.findLast(({ data }) => data.to === "running")?.n ?? 0;
  }

  get #moves() {
    return this.#history.list("status") ?? [];
  }

  content() {
    const task = this.#task;
    if (!task) return this.#error ? this.#showMissing() : loading();
    return [
      h("p", { class: "faint path" }, link(linkTo("/tasks"), "Tasks"), " / ", code(task.task_id, { class: "mono" }), copyButton("Copy id", task.task_id)),
      this.#error?.status === 404 && h("div", { class: "notice", role: "status", key: "gone" }, h("b", null, "Removed"), h("span", null, "Somebody has removed this task from the lists. Its history is kept for the audit trail.")),
      showHead(task, this.#error?.status !== 404 && showActions(task, { take: (after) => this.#after(after), drafts, createdBy: this.#createdBy })),
      showProgress(task),
      showWhy(task, this.#holders),
      this.#moves.length > 0 && showLife(task, this.#moves, connection.now(), {
        older: this.#history.hasMore("status"),
        all: this.#allAttempts,
        showAll: () => this.#change(() => (this.#allAttempts = true)),
      }),
      h(
        "div",
        { class: "columns", key: "columns" },
        this.#showWork(task),
        h("div", null, showFacts(task, this.#history.first?.data ?? {}), showJson("Payload", task.payload), showJson("Result", task.result)),
      ),
    ];
  }

  #change(act) {
    act();
    this.update();
  }

  #choose(kind) {
    this.#kind = kind;
    replaceQuery(kind ? { kind } : {});
    this.update();
    if (!this.#history.list(kind)) this.#readOlder();
  }

  async #readOlder() {
    try {
      await this.#history.readPage(this.#kind);
    } catch (error) {
      toast(error.message, { tone: "dead" });
    }
    this.update();
  }

  #showMissing() {
    if (this.#error.status !== 404) return problem(this.#error);
    return empty("There is no such task.", "It may have been removed, or belong to another tenant. ", link(linkTo("/tasks"), "All tasks"));
  }

  #after(task) {
    this.#take(task);
    this.#readNow();
  }

  #showWork(task) {
    const begun = this.#begun;
    const pieces = (kind) => (this.#history.list(kind) ?? []).filter(({ n }) => n > begun);
    return h(
      "div",
      null,
      showOutput(task, { tokens: pieces("token"), logs: pieces("log") }),
      showReceipt(task, this.#history.list("control") ?? []),
      showAttempts(this.#attempts, task.max_attempts, connection.now()),
      showTimeline(this.#history, {
        kind: this.#kind,
        open: this.#open,
        choose: (kind) => this.#choose(kind),
        toggle: (n) => this.#change(() => this.#open.delete(n) || this.#open.add(n)),
        readMore: () => this.#readOlder(),
      }),
    );
  }
}
property(TaskPage, "parameters");
customElements.define("task-page", TaskPage);

// An action on many tasks, in a dialog: first what it would do, then step by step, then what it has done.
import { api, define, h, number, plural, View, words } from "../../core.js";
import { button, chip, loading, problem, row, showDialog, status, table, toast } from "../../parts.js";

/** The actions of the API: what the button says, and what has become of the tasks. */
export const ACTIONS = {
  cancel: { label: "Cancel", done: "canceled", tone: "danger" },
  pause: { label: "Pause", done: "paused" },
  resume: { label: "Resume", done: "resumed" },
  retry: { label: "Retry", done: "queued again" },
  dismiss: { label: "Dismiss", done: "dismissed" },
};
const REASONS = {
  changed: "does not fit the filter any more",
  forbidden: "you may not give its actor work",
  "illegal-transition": "not possible in this status",
  locked: "busy at the moment, try again",
  "not-found": "not there any more",
  stopping: "is asked to stop already",
};

/** `chosen`: {ids} or {filter, all}; `said`: other words for the action. Returns a promise of whether something was done. */
export async function actOnMany(action, chosen, said = ACTIONS[action]) {
  let acted = false;
  const noteAct = () => (acted = true);
  await showDialog({
    title: `${said.label} tasks`,
    wide: true,
    content: ({ close }) => h("bulk-action", { props: { action, chosen, said, noteAct, close } }),
  });
  return acted;
}

class BulkAction extends View {
  #preview = null;
  #receipt = null;
  #cursor = null; // of the next step
  #busy = false;
  #error = null;

  start() {
    this.#try(async () => (this.#preview = await this.#send({ dry_run: true })));
  }

  #send(more) {
    return api.post("/tasks/bulk", { action: this.action, ...this.chosen, ...more });
  }

  async #try(act) {
    [this.#busy, this.#error] = [true, null];
    this.update();
    try {
      await act();
    } catch (error) {
      this.#error = error;
    }
    this.#busy = false;
    this.update();
  }

  /** Does all steps, or goes on with the one whose answer was lost: what is done is not done twice. */
  async #run() {
    if (!this.#receipt) [this.#receipt, this.#cursor] = [{ tasks: 0, groups: [], skipped: [], failed: [] }, this.#preview.cursor];
    this.noteAct();
    do {
      const step = await this.#send({ cursor: this.#cursor ?? undefined });
      this.#receipt = add(this.#receipt, step);
      this.#cursor = step.next_cursor;
      this.update();
    } while (this.#cursor && this.isConnected);
    if (this.#cursor) toast(`Stopped: ${this.#sayDone(this.#receipt)}.`);
  }

  #sayDone = ({ tasks }) => `${plural(tasks, "task")} ${this.said.done}`;

  content() {
    const shown = this.#receipt ?? this.#preview;
    return [
      this.#error && problem(this.#error),
      shown ? this.#show(shown) : !this.#error && loading("Counting the tasks…"),
      h("div.dialog-acts", this.#buttons()),
    ];
  }

  #show(outcome) {
    const { tasks, groups, skipped, failed, next_cursor: more } = outcome;
    const { label } = this.said;
    const left = [...skipped, ...failed];
    const isPreview = !this.#receipt;
    const said = isPreview
      ? tasks ? `${label} changes ${more ? "at least " : ""}${plural(tasks, "task")}:` : "There is no task that this would change."
      : `${this.#busy ? "Processing… " : ""}${this.#sayDone(outcome)}${this.#busy && !this.#preview.next_cursor ? ` of ${number(this.#preview.tasks)}` : ""}.`;
    return [
      h("p.dialog-text", { role: "status" }, said),
      groups.length > 0 && table({ "aria-label": isPreview ? "What it will do" : "What it did" }, ["Tasks", "Actor", "Is", isPreview ? "Becomes" : "Became"], groups.map((each) =>
        row(keyOf(each), number(each.tasks), each.actor, status(each.status), each.becomes === "stopping" ? chip("stopping", "canceled") : status(each.becomes)))),
      left.length > 0 && table({ "aria-label": "What stays as it is" }, ["Tasks", "Stay as they are", "Why"], left.map((each) =>
        row(keyOf(each), number(each.tasks), each.status && status(each.status), REASONS[each.reason] ?? words(each.reason.replaceAll("-", "_"))))),
    ];
  }

  #buttons() {
    const { label, tone } = this.said;
    const isOver = this.#receipt && !this.#cursor && !this.#error;
    if (isOver) return button("Close", () => this.close(), { class: "primary" });
    const act = () => this.#try(() => this.#run());
    const wish = this.#receipt ? "Go on" : `${label} ${this.#preview?.next_cursor ? "all" : plural(this.#preview?.tasks ?? 0, "task")}`;
    return [
      button(this.#receipt ? "Stop here" : "Back", () => this.close(), { key: "back" }),
      this.#preview?.tasks > 0 && button(this.#busy ? "Processing…" : wish, act, { key: "act", class: tone ?? "primary", disabled: this.#busy }),
    ];
  }
}
define("bulk-action", BulkAction, "action", "chosen");

const keyOf = ({ actor, status: from, becomes, reason }) => [actor, from, becomes, reason].join(" ");

/** A receipt with that of another step. */
function add(receipt, step) {
  const sum = (name) => {
    const all = new Map();
    for (const each of [...receipt[name], ...step[name]]) {
      all.set(keyOf(each), { ...each, tasks: each.tasks + (all.get(keyOf(each))?.tasks ?? 0) });
    }
    return [...all.values()];
  };
  return { tasks: receipt.tasks + step.tasks, groups: sum("groups"), skipped: sum("skipped"), failed: sum("failed") };
}

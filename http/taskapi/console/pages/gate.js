// A gate: its last hour, who holds it and who waits, its limits and who has changed them.
import { api } from "../core/api.js";
import { caller } from "../core/caller.js";
import { connection } from "../core/connection.js";
import { h } from "../core/dom.js";
import { number, plural } from "../core/format.js";
import { linkTo } from "../core/router.js";
import { View, property } from "../core/view.js";
import { actionButton } from "../parts/action-button.js";
import { card, code, link, loading, problem } from "../parts/basics.js";
import { askForm } from "../parts/form-dialog.js";
import { gatePath } from "../parts/gate-links.js";
import { linePlot } from "../parts/line-plot.js";
import { since } from "../parts/moment-text.js";
import { toast } from "../parts/toasts.js";
import "./gates/gate-limits.js";
import { addSamples, makePlots } from "./gates/history.js";
import { changesTable, holdersTable, waitersTable } from "./gates/tables.js";
import { differences, nextStart, rateOf, stateChip } from "./gates/words.js";

const SECONDS = 2;
const SECONDS_OF_HISTORY = 5;
const STEP = 20; // tasks that are shown at first; the button shows more

class GatePage extends View {
  #gate = null;
  #lists = { holders: [], waiters: [], changes: [] };
  #further = {}; // whether a list has more
  #most = { holders: STEP, waiters: STEP, changes: STEP };
  #samples = [];
  #error = null;
  #again = () => {};

  start() {
    const now = this.poll((signal) => this.#readNow(signal), SECONDS);
    const history = this.poll((signal) => this.#readHistory(signal), SECONDS_OF_HISTORY);
    this.#again = () => (now(), history());
  }

  get #key() {
    return this.parameters.key;
  }

  async #readNow(signal) {
    try {
      const [gate] = await Promise.all([
        api.get(gatePath(this.#key), {}, { signal }),
        this.#readList("holders", signal),
        this.#readList("waiters", signal),
      ]);
      [this.#gate, this.#error] = [gate, null];
    } catch (error) {
      if (error.status) this.#error = error;
      if (error.status === 404) this.#gate = null;
      throw error;
    } finally {
      this.update();
    }
  }

  async #readHistory(signal) {
    const [{ items }] = await Promise.all([
      api.get("/gate-samples", { gate: this.#key, since: this.#samples.at(-1)?.at }, { signal }),
      this.#readList("changes", signal),
    ]);
    this.#samples = addSamples(this.#samples, items, connection.now());
  }

  async #readList(name, signal) {
    const page = await api.get(`/gate-${name}`, { gate: this.#key, limit: this.#most[name] }, { signal });
    this.#lists[name] = page.items;
    this.#further[name] = page.next_cursor !== null && this.#most[name] < 500;
  }

  content() {
    const gate = this.#gate;
    return [
      h("p", { class: "crumbs" }, link(linkTo("/gates"), "Gates"), " / ", code(this.#key)),
      this.#error && problem(this.#error),
      this.#error?.status === 404 && h("p", { class: "dim" }, "A gate without settings is shown while tasks use it or wait for it."),
      gate ? [this.#head(gate), this.#notices(gate), this.#cards(gate)] : !this.#error && loading(),
    ];
  }

  #head(gate) {
    return h(
      "div",
      { class: "head gate-head" },
      h("h1", null, h("code", null, gate.key)),
      stateChip(gate),
      h("div", { class: "acts" }, this.#acts(gate)),
      h("p", { class: "dim" }, this.#nowWords(gate)),
    );
  }

  #nowWords(gate) {
    const { key, running, waiting, max_concurrent: limit } = gate;
    const rate = rateOf(gate);
    if (key.startsWith("queue:")) return gate.paused ? "No task of this queue starts. They stay queued." : "Tasks of this queue may start.";
    return [
      limit === null ? `${plural(running, "task")} running` : `${number(running)} of ${plural(limit, "place")} taken`,
      ` · ${plural(waiting, "task")} waiting · next start: `,
      nextStart(gate),
      rate && [" · rate: ", rate],
    ];
  }

  #acts(gate) {
    const mayReset = caller.may("POST /gates/{key}/reset") && gate.has_settings;
    if (!caller.may("PUT /gates/{key}") || !isSettable(gate)) return null;
    const act = (label, title, say, send, more) =>
      actionButton({ key: label, label, title, ...more, act: async () => {
        this.#gate = await send();
        toast(say);
        this.#again();
      } });
    const change = (body) => () => api.put(gatePath(gate.key), body);
    const ask = { title: "Set what the code declares?", text: differences(gate).map((text) => h("p", null, text)), action: "Reset", danger: false };
    return [
      mayReset && differences(gate).length > 0 &&
        act("Reset", ask.title, "The gate has what the code declares, and follows it again.", () => api.post(`${gatePath(gate.key)}/reset`), { ask }),
      gate.state === "closed"
        ? act("Open now", "Let tasks start again", "The gate is open.", change({ closed_until: null }))
        : h("button", { key: "close", type: "button", onclick: () => this.#close(gate) }, "Close for…"),
      gate.paused
        ? act("Resume", "Let tasks start again", "Resumed: tasks start again.", change({ paused: false }), { tone: "primary" })
        : act("Pause", "No task starts here; those that run go on", "Paused: no task starts here. Those that run go on.", change({ paused: true })),
    ];
  }

  async #close(gate) {
    const changed = await askForm({
      title: "Close the gate",
      action: "Close",
      fields: () => [
        h("p", { class: "dim" }, "No task starts here until then; those that run go on, and no attempt is used."),
        h("label", null, "Minutes", h("input", { name: "minutes", type: "number", min: "0.1", step: "any", value: "5", required: true })),
      ],
      send: (form) =>
        api.put(gatePath(gate.key), { closed_until: new Date(connection.now() + 60_000 * Number(form.get("minutes"))).toISOString() }),
    });
    if (changed) this.#gate = changed;
    this.#again();
  }

  #notices(gate) {
    const { state, waiting, breaker_changed_at: changed } = gate;
    const tasks = `${plural(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}`;
    const differs = differences(gate);
    return [
      (state === "breaker_open" || state === "breaker_half_open") &&
        h("div", { key: "breaker", class: "notice" },
          h("b", null, state === "breaker_open" ? "The breaker is open" : "The breaker is half open"),
          h("span", null, "for ", since(changed), `: too many calls have failed. ${tasks}, no attempts are spent; `, nextStart(gate), "."),
        ),
      differs.length > 0 &&
        gate.has_settings &&
        h("div", { key: "differs", class: "differs" }, differs.map((text) => h("p", { key: text }, text)), h("p", { class: "faint" }, "A deploy does not undo it.")),
    ];
  }

  #cards(gate) {
    if (gate.key.startsWith("queue:")) return card({ title: "Changes" }, changesTable(this.#lists.changes), this.#more("changes"));
    const plots = makePlots(gate, this.#samples, this.#lists.changes, connection.now());
    const { holders, waiters, changes } = this.#lists;
    return h(
      "div",
      { class: "grid gate-cards" },
      card({ key: "use", title: "Use", note: "last hour", span: 8 }, plots.map(linePlot)),
      h("gate-limits", {
        key: "limits", class: "span-4", props: { gate, mayChange: caller.may("PUT /gates/{key}") && isSettable(gate) },
        onsaved: () => this.#again(),
      }),
      card({ key: "holders", title: "Who holds it", note: plural(gate.running, "task"), span: 6 }, holdersTable(holders), this.#more("holders")),
      card({ key: "waiters", title: "Who waits", note: plural(gate.waiting, "task"), span: 6 }, waitersTable(waiters), this.#more("waiters")),
      card({ key: "changes", title: "Changes", note: "by people, code and the breaker" }, changesTable(changes), this.#more("changes")),
    );
  }

  #more(name) {
    const show = () => {
      this.#most[name] = 500;
      this.#again();
    };
    return this.#further[name] && h("button", { type: "button", class: "more", onclick: show }, "Show more");
  }
}
property(GatePage, "parameters");
customElements.define("gate-page", GatePage);

/** Other gates have settings only when the code has declared them. */
const isSettable = ({ key, has_settings: has }) => has || /^(tenant|target|queue):/.test(key);

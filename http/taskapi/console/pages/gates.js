// All gates: what keeps tasks from starting, and when the next one starts. Those in use come first.
import { api } from "../core/api.js";
import { h } from "../core/dom.js";
import { number, plural } from "../core/format.js";
import { currentAddress, replaceQuery } from "../core/router.js";
import { View, property } from "../core/view.js";
import { card, code, empty, link, loading, pageHead, problem, row, table } from "../parts/basics.js";
import { gatePath } from "../parts/gate-links.js";
import { sparkline } from "../parts/sparkline.js";
import { differences, nextStart, rateOf, stateChip, useOf } from "./gates/words.js";

const SECONDS = 2;
const TURNS = 5; // between two reads of what changes slowly: the last hour, and the gates at rest
const STEP = 100;
const COLUMNS = ["Gate", "In use", "Waiting", "Next start", "State", "Rate", "Last hour"];

class GatesPage extends View {
  #q = currentAddress().query.get("q") ?? "";
  #lists = new Map([[true, null], [false, null]]); // by whether they are busy: {gates, more}
  #most = new Map([[true, STEP], [false, STEP]]);
  #trends = new Map();
  #turn = 0;
  #error = null;
  #again = () => {};

  start() {
    this.#again = this.poll((signal) => this.#read(signal), SECONDS);
  }

  async #read(signal) {
    const [q, slow] = [this.#q, this.#turn++ % TURNS === 0];
    try {
      await Promise.all([...this.#lists.keys()].map((busy) => (busy || slow) && this.#readList(busy, { q, busy, trend: slow }, signal)));
      if (q !== this.#q) this.#now(); // typed meanwhile
      this.#error = null;
    } catch (error) {
      if (error.status) this.#error = error;
      this.#turn = 0;
      throw error;
    } finally {
      this.update();
    }
  }

  async #readList(busy, query, signal) {
    const gates = [];
    let cursor;
    do {
      const limit = Math.min(500, this.#most.get(busy) - gates.length);
      const page = await api.get("/gates", { ...query, limit, cursor }, { signal });
      gates.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor && gates.length < this.#most.get(busy));
    if (query.trend) for (const gate of gates) this.#trends.set(gate.key, gate.trend);
    if (query.q === this.#q) this.#lists.set(busy, { gates, more: Boolean(cursor) });
  }

  #now() {
    this.#turn = 0;
    this.#again();
  }

  #filter(text) {
    this.#q = text;
    replaceQuery({ q: text });
    for (const busy of this.#most.keys()) this.#most.set(busy, STEP);
    this.#now();
  }

  content() {
    const [busy, atRest] = this.#lists.values();
    const filter = h("input", {
      class: "gate-filter", type: "search", "aria-label": "Filter gates", placeholder: "Filter by key", value: this.#q,
      autocomplete: "off", spellcheck: "false", oninput: (event) => this.#filter(event.target.value.trim()),
    });
    const isEmpty = busy && atRest && busy.gates.length + atRest.gates.length === 0;
    return [
      pageHead("Gates", filter),
      this.#error && problem(this.#error),
      (!busy || !atRest) && !this.#error && loading(),
      isEmpty && this.#none(),
      busy && atRest && !isEmpty && [
        this.#table(true, "In use", busy),
        atRest.gates.length > 0 && this.#table(false, "At rest", atRest),
      ],
    ];
  }

  #none() {
    return card({ key: "none" }, this.#q
      ? empty(`No gate has “${this.#q}” in its key.`, h("button", { type: "button", onclick: () => this.#filter("") }, "Show all gates"))
      : empty("No gates yet.", "A gate limits how many tasks run at once, and how fast. Actors declare them; ", code("callboard gates set tenant:acme --max-concurrent 2"), " limits a tenant."));
  }

  #table(busy, title, { gates, more }) {
    const showMore = () => {
      this.#most.set(busy, this.#most.get(busy) + 2 * STEP);
      this.#now();
    };
    return card(
      { key: title, title, note: `${plural(gates.length, "gate")}${more ? " so far" : ""}`, class: "gates" },
      gates.length === 0
        ? empty("Nothing runs behind a gate, and nothing waits.")
        : table({ "aria-label": title }, COLUMNS, gates.map((gate) => this.#row(gate))),
      more && h("button", { type: "button", class: "more", onclick: showMore }, "Show more gates"),
    );
  }

  #row(gate) {
    const differs = differences(gate);
    const trend = this.#trends.get(gate.key) ?? [0];
    const most = Math.max(...trend);
    const label = `At most ${most} ran at once in the last hour`;
    return row(
      gate.key,
      [
        link(`#${gatePath(gate.key)}`, code(gate.key)),
        gate.has_settings && differs.length > 0 && h("small", { title: differs.join(" ") }, differs[0]),
      ],
      useOf(gate),
      h("td", { class: gate.waiting === 0 && "faint" }, number(gate.waiting)),
      h("td", { class: "dim" }, nextStart(gate)),
      stateChip(gate),
      h("td", { class: "dim" }, rateOf(gate)),
      most > 0 && sparkline(trend, { label, top: gate.max_concurrent ?? 1 }),
    );
  }
}
property(GatesPage, "parameters");
customElements.define("gates-page", GatesPage);

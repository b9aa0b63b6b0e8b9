// All gates: what keeps tasks from starting, and when the next one starts. Those in use come first.
import { currentAddress, define, h, number, plural, readAll, replaceQuery, View } from "../core.js";
import { button, card, code, empty, loading, moreButton, pageHead, problem, row, showGate, sparkline, table } from "../parts.js";
import { differences, nextStart, rateOf, stateChip, useOf } from "./gates/words.js";

const SECONDS = 2;
const TURNS = 5; // between two reads of what changes slowly: the last hour, and the gates at rest
const STEP = 100;
const COLUMNS = ["Gate", "In use", "Waiting", "Next start", "State", "Rate", "Last hour"];

class GatesPage extends View {
  #q = currentAddress().query.get("q") ?? "";
  #lists = [{ title: "In use", busy: true, most: STEP }, { title: "At rest", busy: false, most: STEP }]; // gates: when read
  #trends = new Map();
  #turn = 0;

  start() {
    this.again = this.poll((signal) => {
      const slow = this.#turn++ % TURNS === 0;
      return Promise.all(this.#lists.map((list) => (list.busy || slow || !list.gates) && this.#read(list, slow, signal)));
    }, SECONDS);
  }

  async #read(list, trend, signal) {
    const [q, most] = [this.#q, list.most + 1]; // one more shows whether there are further ones
    const gates = await readAll("/gates", { q: q.trim(), busy: list.busy, trend, limit: Math.min(500, most) }, { most, signal });
    if (trend) for (const gate of gates) this.#trends.set(gate.key, gate.trend);
    if (q === this.#q) list.gates = gates;
  }

  #now() {
    this.#turn = 0;
    this.again();
    this.update();
  }

  #filter(text) {
    this.#q = text;
    replaceQuery({ q: text.trim() });
    for (const list of this.#lists) list.most = STEP;
    this.#now();
  }

  content() {
    const isKnown = this.#lists.every(({ gates }) => gates);
    return [
      pageHead("Gates", h("input.gate-filter", {
        type: "search", "aria-label": "Filter gates", placeholder: "Filter by key", value: this.#q, spellcheck: "false",
        oninput: (event) => this.#filter(event.target.value),
      })),
      this.error && problem(this.error),
      !isKnown ? !this.error && loading() : this.#lists.some(({ gates }) => gates.length) ? this.#lists.map((list) => this.#card(list)) : this.#none(),
    ];
  }

  #none() {
    return card({ key: "none" }, this.#q
      ? empty(`No gate has “${this.#q}” in its key.`, button("Show all gates", () => this.#filter("")))
      : empty("No gates yet.", "A gate limits how many tasks run at once, and how fast. Actors declare them; ", code("callboard gates set tenant:acme --max-concurrent 2"), " limits a tenant."));
  }

  #card(list) {
    const { title, busy, most, gates } = list;
    if (!busy && !gates.length) return null;
    const shown = gates.slice(0, most);
    const hasMore = gates.length > most;
    const showMore = () => {
      list.most += 2 * STEP;
      this.#now();
    };
    return card(
      { key: title, title, note: `${plural(shown.length, "gate")}${hasMore ? " so far" : ""}`, class: "gates" },
      shown.length ? table({ "aria-label": title }, COLUMNS, shown.map((gate) => this.#row(gate))) : empty("Nothing runs behind a gate, and nothing waits."),
      hasMore && moreButton(showMore, "Show more gates"),
    );
  }

  #row(gate) {
    const differs = differences(gate);
    const trend = this.#trends.get(gate.key) ?? [0];
    const most = Math.max(...trend);
    return row(
      gate.key,
      [showGate(gate.key), differs.length > 0 && h("small", { title: differs.join(" ") }, differs[0])],
      useOf(gate),
      h("td", { class: !gate.waiting && "faint" }, number(gate.waiting)),
      h("td.dim", nextStart(gate)),
      stateChip(gate),
      h("td.dim", rateOf(gate)),
      most > 0 && sparkline(trend, { label: `At most ${most} ran at once in the last hour`, top: gate.max_concurrent ?? 1 }),
    );
  }
}
define("gates-page", GatesPage);

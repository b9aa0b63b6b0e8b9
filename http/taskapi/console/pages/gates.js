// All gates: what keeps tasks from starting, and when the next one starts. Those in use come first.
import { api } from "../core/api.js";
import { h } from "../core/dom.js";
import { number, plural } from "../core/format.js";
import { currentAddress, replaceQuery } from "../core/router.js";
import { View, property } from "../core/view.js";
import { card, code, empty, link, loading, pageHead, problem } from "../parts/basics.js";
import { gatePath } from "../parts/gate-links.js";
import { sparkline } from "../parts/sparkline.js";
import "../parts/moment-text.js";
import { differences, nextStart, rateOf, stateChip, useOf } from "./gates/words.js";

const BUSY = { busy: true, seconds: 2, most: 100 };
const AT_REST = { busy: false, seconds: 10, most: 50 };
const SECONDS_OF_TRENDS = 15;
const COLUMNS = ["Gate", "In use", "Waiting", "Next start", "State", "Rate", "Last hour"];

class GatesPage extends View {
  #q = currentAddress().query.get("q") ?? "";
  #parts = [BUSY, AT_REST].map((part) => ({ ...part, gates: null, more: false, read: () => {}, trendsAt: 0 }));
  #trends = new Map();
  #error = null;

  start() {
    for (const part of this.#parts) part.read = this.poll((signal) => this.#read(part, signal), part.seconds);
  }

  async #read(part, signal) {
    const q = this.#q;
    const trend = Date.now() - part.trendsAt > 1000 * SECONDS_OF_TRENDS;
    try {
      const found = [];
      let cursor;
      do {
        const limit = Math.min(500, part.most - found.length);
        const page = await api.get("/gates", { q, busy: part.busy, trend, limit, cursor }, { signal });
        found.push(...page.items);
        cursor = page.next_cursor;
      } while (cursor && found.length < part.most);
      if (q !== this.#q) return part.read(); // typed meanwhile
      if (trend) {
        for (const gate of found) this.#trends.set(gate.key, gate.trend);
        part.trendsAt = Date.now();
      }
      [part.gates, part.more, this.#error] = [found, Boolean(cursor), null];
    } catch (error) {
      if (error.status) this.#error = error;
      throw error;
    } finally {
      this.update();
    }
  }

  #filter(text) {
    this.#q = text;
    replaceQuery({ q: text });
    for (const part of this.#parts) {
      part.most = part.busy ? BUSY.most : AT_REST.most;
      part.trendsAt = 0;
      part.read();
    }
  }

  content() {
    const [busy, atRest] = this.#parts;
    const isRead = busy.gates && atRest.gates;
    return [
      pageHead(
        "Gates",
        h("input", {
          class: "gate-filter", type: "search", "aria-label": "Filter gates", placeholder: "Filter by key", value: this.#q,
          autocomplete: "off", spellcheck: "false", oninput: (event) => this.#filter(event.target.value.trim()),
        }),
      ),
      this.#error && problem(this.#error),
      !isRead ? !this.#error && loading() : busy.gates.length + atRest.gates.length === 0 ? this.#none() : [
        this.#table(busy, "In use", "what keeps tasks from starting", "Nothing runs behind a gate, and nothing waits."),
        atRest.gates.length > 0 && this.#table(atRest, "At rest", "nobody holds them, nobody waits"),
      ],
    ];
  }

  #none() {
    return card({ key: "none" }, this.#q
      ? empty(`No gate has “${this.#q}” in its key.`, h("button", { type: "button", onclick: () => this.#filter("") }, "Show all gates"))
      : empty("No gates yet.", "A gate limits how many tasks run at once, and how fast. Actors declare them for what they use; ", code("callboard gates set tenant:acme --max-concurrent 2"), " limits a tenant."));
  }

  #table(part, title, note, ifEmpty) {
    const { gates, more } = part;
    return card(
      { key: title, title, note: gates.length ? `${plural(gates.length, "gate")}${more ? " so far" : ""}` : note, class: "gates" },
      gates.length === 0 ? empty(ifEmpty) : h(
        "div",
        { class: "table" },
        h(
          "table",
          { "aria-label": title },
          h("thead", null, h("tr", null, COLUMNS.map((name) => h("th", { key: name, scope: "col", class: name === "Waiting" && "num" }, name)))),
          h("tbody", null, gates.map((gate) => this.#row(gate))),
        ),
      ),
      more && h("button", { type: "button", class: "more", onclick: () => this.#showMore(part) }, "Show more gates"),
    );
  }

  #row(gate) {
    const differs = differences(gate);
    const trend = this.#trends.get(gate.key);
    const most = trend ? Math.max(...trend) : 0;
    return h(
      "tr",
      { key: gate.key },
      h(
        "td",
        { class: "gate-key" },
        link(`#${gatePath(gate.key)}`, code(gate.key)),
        differs.length > 0 && h("small", { title: differs.join(" ") }, differs[0]),
      ),
      h("td", null, useOf(gate)),
      h("td", { class: ["num", gate.waiting === 0 && "faint"] }, number(gate.waiting)),
      h("td", { class: "dim" }, nextStart(gate)),
      h("td", null, stateChip(gate)),
      h("td", { class: "dim" }, rateOf(gate)),
      h("td", { class: "trend" }, most > 0 && sparkline(trend, { label: `At most ${most} ran at once in the last hour`, top: gate.max_concurrent ?? 1 })),
    );
  }

  #showMore(part) {
    part.most += part.busy ? BUSY.most : 5 * AT_REST.most;
    part.trendsAt = 0;
    part.read();
  }
}
property(GatesPage, "parameters");
customElements.define("gates-page", GatesPage);

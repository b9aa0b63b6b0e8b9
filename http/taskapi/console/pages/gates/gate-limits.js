// The form with the limits of a gate. What the server refuses is shown beside its field; nothing typed is lost.
import { api } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { parseJson } from "../../core/json.js";
import { View, property } from "../../core/view.js";
import { card, problem } from "../../parts/basics.js";
import { gatePath } from "../../parts/gate-links.js";
import { toast } from "../../parts/toasts.js";

const FIELDS = {
  max_concurrent: "Most at once",
  rate_count: "Starts",
  rate_seconds: "in seconds",
  breaker_threshold: "Share of failures that opens it",
  breaker_volume: "of at least so many results",
  breaker_window: "in seconds",
  breaker_seconds: "Seconds it stays open",
};
const BREAKER = Object.keys(FIELDS).slice(3);
const DECLARED = { max_concurrent: "declared_concurrent" };

/** `gate` is what the server says, `mayChange` whether the caller may change it. `onsaved` is called after a change. */
class GateLimits extends View {
  #typed = {};
  #error = null;
  #busy = false;

  get #changes() {
    const written = (name) => this.gate[name]?.toString() ?? "";
    return Object.entries(this.#typed).filter(([name, text]) => text.trim() !== written(name));
  }

  content() {
    const changed = this.#changes.length > 0;
    const hasBreaker = this.gate.breaker_threshold !== null;
    const opened = hasBreaker || BREAKER.some((name) => name in this.#typed || this.#error?.field === name);
    const other = this.#error && !(this.#error.field in FIELDS);
    return card(
      { title: "Limits", note: "empty: none" },
      h(
        "form",
        { class: "limits", onsubmit: (event) => this.#save(event), novalidate: true },
        this.#field("max_concurrent"),
        h("div", { class: "pair" }, this.#field("rate_count"), this.#field("rate_seconds")),
        h(
          "details",
          { open: opened },
          h("summary", null, "Breaker"),
          h("div", { class: "pair" }, BREAKER.map((name) => this.#field(name))),
        ),
        other && problem(this.#error),
        this.mayChange &&
          h(
            "div",
            { class: "acts" },
            h("button", { class: "primary", disabled: this.#busy || !changed, "aria-busy": this.#busy && "true" }, this.#busy ? "Processing…" : "Save"),
            changed && h("button", { type: "button", key: "undo", onclick: () => this.#forget() }, "Undo"),
          ),
      ),
    );
  }

  #field(name) {
    const value = this.gate[name];
    const declared = this.gate[DECLARED[name] ?? `declared_${name}`];
    const refused = this.#error?.field === name;
    const id = `gate-${name}`;
    const differs = this.gate.has_settings && value !== declared && (!BREAKER.includes(name) || this.gate.declared_breaker_threshold !== null);
    return h(
      "label",
      { key: name },
      FIELDS[name],
      h("input", {
        name, value: this.#typed[name] ?? value ?? "", inputmode: "decimal", autocomplete: "off", disabled: !this.mayChange,
        "aria-invalid": refused && "true", "aria-describedby": refused ? id : undefined,
        placeholder: "none", oninput: (event) => this.#type(name, event.target.value),
      }),
      refused
        ? h("small", { id, class: "field-error", role: "alert" }, this.#error.message.replace(`${name}: `, ""))
        : differs && h("small", null, `code: ${declared ?? "none"}`),
    );
  }

  #type(name, text) {
    this.#typed[name] = text;
    if (this.#error?.field === name) this.#error = null;
    this.update();
  }

  #forget() {
    [this.#typed, this.#error] = [{}, null];
    this.update();
  }

  async #save(event) {
    event.preventDefault();
    const changes = this.#changes;
    if (this.#busy || !changes.length) return;
    [this.#busy, this.#error] = [true, null];
    this.update();
    try {
      const gate = await api.put(gatePath(this.gate.key), Object.fromEntries(changes.map(([name, text]) => [name, read(text)])));
      this.#typed = {};
      this.gate = gate;
      toast("The limits are changed. They hold for the next start, on all machines.");
      this.onsaved();
    } catch (error) {
      this.#error = error;
    }
    this.#busy = false;
    this.update();
  }
}
for (const name of ["gate", "mayChange"]) property(GateLimits, name);
customElements.define("gate-limits", GateLimits);

/** What was typed as JSON; the server says what is wrong with a text that is no number. */
function read(text) {
  if (text.trim() === "") return null;
  try {
    return parseJson(text.trim());
  } catch {
    return text.trim();
  }
}

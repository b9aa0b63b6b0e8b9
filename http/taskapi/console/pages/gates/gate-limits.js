// The form with the limits of a gate. What the server refuses is shown beside its field; nothing typed is lost.
import { define, h, parseJson, View } from "../../core.js";
import { button, card, problem, submitButton } from "../../parts.js";

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

/** `gate` is what the server says; save(changes) changes it, if the caller may. */
class GateLimits extends View {
  #typed = {};
  #refused = null;
  #busy = false;

  get #changes() {
    return Object.entries(this.#typed).filter(([name, text]) => text.trim() !== String(this.gate[name] ?? ""));
  }

  content() {
    const changed = this.#changes.length > 0;
    const field = (name) => this.#field(name);
    const open = (details) => (details.open = this.gate.breaker_threshold !== null); // at first: who opens it wants it open
    return card(
      { title: "Limits", note: "empty: none" },
      h(
        "form.limits",
        { onsubmit: (event) => this.#save(event) },
        field("max_concurrent"),
        h("div.pair", field("rate_count"), field("rate_seconds")),
        h("details", { created: open }, h("summary", "Breaker"), h("div.pair", BREAKER.map(field))),
        this.#refused && !(this.#refused.field in FIELDS) && problem(this.#refused),
        this.save &&
          h(
            "div.acts",
            submitButton("Save", this.#busy, { disabled: this.#busy || !changed }),
            changed && button("Undo", () => this.#undo()),
          ),
      ),
    );
  }

  #field(name) {
    const { [name]: value, [`declared_${name.replace("max_", "")}`]: declared } = this.gate;
    const refused = this.#refused?.field === name && `gate-${name}`;
    const follows = BREAKER.includes(name) && this.gate.declared_breaker_threshold === null;
    const oninput = (event) => {
      this.#typed[name] = event.target.value;
      if (refused) this.#refused = null;
      this.update();
    };
    return h(
      "label",
      FIELDS[name],
      h("input", {
        value: this.#typed[name] ?? value ?? "", inputmode: "decimal", disabled: !this.save, placeholder: "none", oninput,
        "aria-invalid": refused && "true", "aria-describedby": refused,
      }),
      refused
        ? h("small.field-error", { id: refused, role: "alert" }, this.#refused.message.replace(`${name}: `, ""))
        : this.gate.has_settings && value !== declared && !follows && h("small", `code: ${declared ?? "none"}`),
    );
  }

  #undo() {
    [this.#typed, this.#refused] = [{}, null];
    this.update();
  }

  async #save(event) {
    event.preventDefault();
    const changes = this.#changes;
    if (this.#busy || !changes.length) return;
    this.#busy = true;
    this.update();
    try {
      await this.save(Object.fromEntries(changes.map(([name, text]) => [name, read(text.trim())])));
      this.#undo();
    } catch (error) {
      this.#refused = error;
    }
    this.#busy = false;
    this.update();
  }
}
define("gate-limits", GateLimits, "gate", "save");

/** What was typed as JSON; the server says what is wrong with a text that is no number. */
function read(text) {
  try {
    return text ? parseJson(text) : null;
  } catch {
    return text;
  }
}

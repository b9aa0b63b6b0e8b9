// Asks for an API key when the server wants one.
import { send } from "../core/api.js";
import { h } from "../core/dom.js";
import { key } from "../core/key.js";
import { View } from "../core/view.js";

class KeyPrompt extends View {
  #error = "";
  #busy = false;

  content() {
    return h(
      "main",
      { class: "key-prompt" },
      h(
        "form",
        { class: "card", onsubmit: (event) => this.#submit(event) },
        h("h1", null, "Callboard"),
        h("p", null, "This server asks for an API key. ", h("code", null, "callboard keys create"), " makes one."),
        h("label", null, "API key", h("input", { name: "key", type: "password", autocomplete: "current-password", required: true })),
        h("label", { class: "check" }, h("input", { name: "remember", type: "checkbox" }), "Remember it in this browser"),
        this.#error && h("p", { class: "field-error", role: "alert" }, this.#error),
        h("button", { class: "primary", disabled: this.#busy }, this.#busy ? "Processing…" : "Continue"),
      ),
    );
  }

  shown() {
    if (!this.contains(document.activeElement)) this.querySelector("input").focus();
  }

  async #submit(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = form.get("key").trim();
    this.#busy = true;
    this.update();
    try {
      await send("/caller", { headers: { Authorization: `Bearer ${text}` } });
      key.use(text, { remember: form.has("remember") });
    } catch (error) {
      this.#error = error.status === 401 ? "The server does not know this key. It may have been revoked." : error.message;
    }
    this.#busy = false;
    this.update();
  }
}
customElements.define("key-prompt", KeyPrompt);

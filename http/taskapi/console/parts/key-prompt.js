// Asks for an API key when the server wants one.
import { define, h, key, send, View } from "../core.js";
import { field, submitButton } from "./fields.js";

class KeyPrompt extends View {
  #error = "";
  #busy = false;

  content() {
    return h(
      "main.key-prompt",
      h(
        "form.card",
        { onsubmit: (event) => this.#submit(event) },
        h("h1", "Callboard"),
        h("p", "This server asks for an API key. ", h("code", "callboard keys create"), " makes one."),
        field("API key", { name: "key", type: "password", autocomplete: "current-password", required: true }),
        h("label.check", h("input", { name: "remember", type: "checkbox" }), "Remember it in this browser"),
        this.#error && h("p.field-error", { role: "alert" }, this.#error),
        submitButton("Continue", this.#busy),
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
define("key-prompt", KeyPrompt);

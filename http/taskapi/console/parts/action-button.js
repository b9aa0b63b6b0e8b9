// A button that does something at the server: disabled and "Processing…" meanwhile, an error as a toast.
import { define, h, View } from "../core.js";
import { button } from "./basics.js";
import { confirm } from "./dialogs.js";
import { toast } from "./toasts.js";

class ActionButton extends View {
  #busy = false;

  content() {
    const { label, tone, disabled, title, name } = this.action ?? {};
    const busy = this.#busy;
    const more = { class: tone, disabled: busy || Boolean(disabled), "aria-busy": busy && "true", title, "aria-label": name };
    return button(busy ? "Processing…" : label, () => this.#run(), { key: "button", ...more });
  }

  async #run() {
    const { ask, act } = this.action;
    if (this.#busy || (ask && !(await confirm(ask)))) return;
    const [hadFocus, around] = [this.contains(document.activeElement), this.parentElement];
    this.#busy = true;
    this.update();
    try {
      await act();
    } catch (error) {
      toast(error.message, { tone: "dead" });
    } finally {
      this.#busy = false;
      this.update();
      if (hadFocus) requestAnimationFrame(() => requestAnimationFrame(() => keepFocus(this, around)));
    }
  }
}
define("action-button", ActionButton, "action");

/** A button that is disabled, or replaced by its opposite, loses the focus; the keyboard would start at the top again. */
function keepFocus(element, around) {
  if (document.activeElement !== document.body) return;
  (element.isConnected ? element : around).querySelector("button:not(:disabled)")?.focus();
}

/** {label, act, tone: "primary" or "danger", disabled, title, name: for screen readers, ask: what confirm() asks before} */
export const actionButton = (action) => h("action-button", { key: action.key, props: { action } });

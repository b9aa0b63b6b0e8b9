// A dialog with a form that is sent to the server. What the server refuses is shown in it, and nothing typed is lost.
import { h } from "../core/dom.js";
import { problem } from "./basics.js";
import { showDialog } from "./dialogs.js";

/** fields(error) returns the content of the form. send(FormData, form) sends it; its value is that of the promise, and
 *  undefined keeps the dialog open. null: the user has closed it. */
export function askForm({ title, fields, action, send, wide = false }) {
  let busy = false;
  let error = null;
  const submit = (close, update) => async (event) => {
    event.preventDefault();
    if (busy) return;
    const form = event.target;
    const data = new FormData(form);
    [busy, error] = [true, null];
    update();
    try {
      const value = await send(data, form);
      if (value !== undefined) close(value);
    } catch (refused) {
      error = refused;
    }
    busy = false;
    update();
  };
  return showDialog({
    title,
    wide,
    content: ({ close, update }) =>
      h(
        "form",
        { class: "form", onsubmit: submit(close, update) },
        fields(error),
        error && problem(error),
        h(
          "div",
          { class: "dialog-acts" },
          h("button", { type: "button", onclick: () => close(null) }, "Back"),
          h(
            "button",
            { class: "primary", disabled: busy, "aria-busy": busy && "true" },
            busy ? "Processing…" : action,
          ),
        ),
      ),
  });
}

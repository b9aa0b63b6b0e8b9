// Modal dialogs on the browser's own <dialog>: it keeps the focus inside and gives it back, and Escape closes it.
import { h, render } from "../core/dom.js";

let count = 0;

/** Shows a dialog. content({close, update}) returns what it shows; close(value) ends it. Returns a promise of the value;
 *  null if the user has dismissed it. */
export function showDialog({ title, content, wide = false }) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const heading = `dialog-${(count += 1)}`;
    dialog.setAttribute("aria-labelledby", heading);
    dialog.classList.toggle("wide", wide);
    let value = null;
    const close = (answer) => {
      value = answer;
      dialog.close();
    };
    const update = () => render(dialog, h("h2", { id: heading }, title), content({ close, update }));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(value);
    });
    update();
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks a question with consequences. `text` may be any content; `action` is the word on the button. */
export async function confirm({ title, text, action, danger = true }) {
  const answer = await showDialog({
    title,
    content: ({ close }) => [
      h("div", { class: "dialog-text" }, text),
      h(
        "div",
        { class: "dialog-acts" },
        h("button", { type: "button", onclick: () => close(false) }, "Back"),
        h("button", { type: "button", class: danger ? "danger" : "primary", onclick: () => close(true) }, action),
      ),
    ],
  });
  return answer === true;
}

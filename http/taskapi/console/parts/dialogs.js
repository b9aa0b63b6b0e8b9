// Modal dialogs on the browser's own <dialog>: it keeps the focus inside and gives it back, and Escape closes it.
import { h, render } from "../core.js";
import { button } from "./basics.js";
import { dialogActs } from "./fields.js";

let count = 0;

/** Shows a dialog. content({close, update}) returns what it shows; close(value) ends it. Returns a promise of the value;
 *  null if the user has dismissed it, or has gone to another page. */
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
    const leave = () => close(null);
    const update = () => render(dialog, h("h2", { id: heading }, title), content({ close, update }));
    dialog.addEventListener("close", () => {
      window.removeEventListener("hashchange", leave);
      dialog.remove();
      resolve(value);
    });
    window.addEventListener("hashchange", leave);
    update();
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks a question with consequences. `text` may be any content; `action` is the word on the button. */
export async function confirm({ title, text, action, danger = true }) {
  const content = ({ close }) => [
    h("div.dialog-text", text),
    dialogActs(close, button(action, () => close(true), { class: danger ? "danger" : "primary" })),
  ];
  return (await showDialog({ title, content })) === true;
}

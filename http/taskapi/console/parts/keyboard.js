// The keys that work everywhere, and those of lists.
import { h } from "../core/dom.js";
import { showDialog } from "./dialogs.js";

const KEYS = [
  ["/", "Filter tasks, or open one by its id"],
  ["j", "Next row of a list"],
  ["k", "Row before"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["?", "This help"],
  ["Esc", "Close a dialog, leave a field"],
];

export function showKeyboardHelp() {
  return showDialog({
    title: "Keys",
    content: ({ close }) => [
      h("dl", { class: "facts" }, KEYS.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)])),
      h("div", { class: "dialog-acts" }, h("button", { type: "button", class: "primary", onclick: () => close() }, "Close")),
    ],
  });
}

// The keys that work everywhere, and those of lists.
import { h } from "../core.js";
import { button, facts } from "./basics.js";
import { showDialog } from "./dialogs.js";

const KEYS = {
  "/": "Filter tasks, or open one by its id",
  j: "Next row of a list",
  k: "Row before",
  Enter: "Open the row",
  x: "Select the row",
  "?": "This help",
  Esc: "Close a dialog, leave a field",
};

export function showKeyboardHelp() {
  const content = ({ close }) => [
    facts(Object.entries(KEYS).map(([key, text]) => [h("kbd", key), text])),
    h("div.dialog-acts", button("Close", () => close(), { class: "primary" })),
  ];
  return showDialog({ title: "Keys", content });
}

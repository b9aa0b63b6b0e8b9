// The fields of forms that are written by hand, and their buttons.
import { h } from "../core.js";
import { button } from "./basics.js";

/** An input with its label. */
export const field = (label, attributes) => h("label", label, h("input", { autocomplete: "off", ...attributes }));

/** A select. `choices`: [value, text] of each. */
export const select = (attributes, choices) =>
  h("select", attributes, choices.map(([value, text = value]) => h("option", { key: value, value }, text)));

/** The button that sends a form. */
export const submitButton = (label, busy, attributes) =>
  h("button.primary", { disabled: busy, "aria-busy": busy && "true", ...attributes }, busy ? "Processing…" : label);

/** What a dialog ends with. */
export const dialogActs = (close, ...buttons) => h("div.dialog-acts", button("Back", () => close(null)), ...buttons);

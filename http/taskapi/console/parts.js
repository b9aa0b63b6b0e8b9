// The parts that most pages need, to import at once.
export * from "./parts/action-button.js";
export * from "./parts/basics.js";
export * from "./parts/counts.js";
export * from "./parts/curl.js";
export * from "./parts/dialogs.js";
export * from "./parts/fields.js";
export * from "./parts/form-dialog.js";
export * from "./parts/gate-links.js";
export * from "./parts/json-tree.js";
export * from "./parts/keyboard.js";
export * from "./parts/line-plot.js";
export * from "./parts/moment-text.js";
export * from "./parts/sparkline.js";
export * from "./parts/toasts.js";

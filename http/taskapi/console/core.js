// What has no look, for pages and parts to import at once.
export * from "./core/api.js";
export * from "./core/caller.js";
export * from "./core/connection.js";
export * from "./core/dom.js";
export * from "./core/format.js";
export * from "./core/json.js";
export * from "./core/key.js";
export * from "./core/poll.js";
export * from "./core/router.js";
export * from "./core/statuses.js";
export * from "./core/stream.js";
export * from "./core/theme.js";
export * from "./core/view.js";

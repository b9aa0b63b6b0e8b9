// The attempts of a task with their errors. Tracebacks are closed, and only there if the caller may see them.
import { h } from "../../core/dom.js";
import { clock, duration, exactTime } from "../../core/format.js";
import { card, chip } from "../../parts/basics.js";
import "../../parts/json-tree.js";
import { MOST_ROWS } from "./life.js";
import { workerName } from "./words.js";

const TONES = { failed: "dead", lost: "dead", released: "queued" };

/** Shows the newest attempts; `all`: all of them. */
export function showAttempts(attempts, { max_attempts: most }, now, all) {
  if (!attempts.length) return null;
  const shown = attempts.slice(all ? 0 : -MOST_ROWS).toReversed();
  return card({ title: "Attempts", note: `${most} at most`, key: "attempts", class: "attempts" }, h("ol", null, shown.map(showOne)));

  function showOne({ epoch, attempt, worker_id: worker, outcome, error, started_at: started, finished_at: finished }) {
    const took = duration(Math.max(0, (finished ? Date.parse(finished) : now) - Date.parse(started)) / 1000);
    const state = outcome ?? "running";
    return h(
      "li",
      { key: epoch },
      h("b", null, `Attempt ${attempt} `),
      chip(state, TONES[state] ?? state),
      h("span", { class: "dim", title: `${exactTime(started)}\n${worker}, epoch ${epoch}` }, ` ${clock(started)}, ${took} on ${workerName(worker)}`),
      error && showError(error),
    );
  }
}

export const showError = ({ type, message, category, details, traceback }) =>
  h(
    "div",
    { class: "error" },
    h("b", null, type),
    ` ${message} `,
    h("span", { class: "faint" }, category),
    details && Object.keys(details).length > 0 && h("details", { key: "details" }, h("summary", null, "Details"), h("json-tree", { props: { value: details } })),
    traceback && h("details", { key: "traceback" }, h("summary", null, "Traceback"), h("pre", { tabindex: 0, "aria-label": "Traceback" }, traceback)),
  );

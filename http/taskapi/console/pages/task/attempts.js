// The attempts of a task with their errors. Tracebacks are closed, and only there if the caller may see them.
import { clock, duration, exactTime, h, secondsBetween } from "../../core.js";
import { card, chip, jsonTree } from "../../parts.js";
import { MOST_ROWS } from "./life.js";
import { workerName } from "./words.js";

const TONES = { failed: "dead", lost: "dead", released: "queued" };

/** Shows the newest attempts; `all`: all of them. */
export function showAttempts(attempts, { max_attempts: most }, all) {
  if (!attempts.length) return null;
  const shown = attempts.slice(all ? 0 : -MOST_ROWS).toReversed();
  return card({ title: "Attempts", note: `${most} at most`, key: "attempts", class: "attempts" }, h("ol", shown.map(showOne)));

  function showOne({ epoch, attempt, worker_id: worker, outcome, error, started_at: started, finished_at: finished }) {
    const took = duration(Math.max(0, secondsBetween(started, finished)));
    const state = outcome ?? "running";
    return h(
      "li",
      { key: epoch },
      h("b", `Attempt ${attempt} `),
      chip(state, TONES[state] ?? state),
      h("span.dim", { title: `${exactTime(started)}\n${worker}, epoch ${epoch}` }, ` ${clock(started)}, ${took} on ${workerName(worker)}`),
      error && showError(error),
    );
  }
}

export const showError = ({ type, message, category, details, traceback }) =>
  h(
    "div.error",
    h("b", type),
    ` ${message} `,
    h("span.faint", category),
    details && Object.keys(details).length > 0 && h("details", { key: "details" }, h("summary", "Details"), jsonTree(details)),
    traceback && h("details", { key: "traceback" }, h("summary", "Traceback"), h("pre", { tabindex: 0, "aria-label": "Traceback" }, traceback)),
  );

// The attempts of a task with their errors. Tracebacks are closed, and only there if the caller may see them.
import { h } from "../../core/dom.js";
import { clock, duration, exactTime } from "../../core/format.js";
import { card, chip } from "../../parts/basics.js";
import "../../parts/json-tree.js";
import { shortWorker } from "./life.js";

const TONES = { completed: "completed", failed: "dead", lost: "dead", canceled: "canceled", paused: "paused", released: "queued" };

export function showAttempts(attempts, maxAttempts, now) {
  if (!attempts?.length) return null;
  return card(
    { title: "Attempts", note: `${maxAttempts} at most`, key: "attempts", class: "attempts" },
    h("ol", null, attempts.toReversed().map((each) => showAttempt(each, now))),
  );
}

function showAttempt({ epoch, attempt, worker_id: worker, outcome, error, started_at: started, finished_at: finished }, now) {
  const seconds = ((finished ? Date.parse(finished) : now) - Date.parse(started)) / 1000;
  return h(
    "li",
    { key: epoch },
    h(
      "p",
      null,
      h("b", null, `Attempt ${attempt} `),
      chip(outcome ?? "running", outcome ? (TONES[outcome] ?? "queued") : "running"),
      h("span", { class: "dim", title: `${exactTime(started)}\n${worker}, epoch ${epoch}` }, ` ${clock(started)}, ${duration(Math.max(0, seconds))} on ${shortWorker(worker)}`),
    ),
    error && showError(error),
  );
}

/** A structured error: type, message, category, what else the actor says about it, and the traceback. */
export function showError({ type, message, category, details, traceback }) {
  return h(
    "div",
    { class: "error" },
    h("p", null, h("b", null, type), " ", h("span", { class: "message" }, message), category && h("span", { class: "faint" }, ` ${category}`)),
    details && Object.keys(details).length > 0 && h("details", { key: "details" }, h("summary", null, "Details"), h("json-tree", { props: { value: details } })),
    traceback && h("details", { key: "traceback" }, h("summary", null, "Traceback"), h("pre", { tabindex: 0, "aria-label": "Traceback" }, traceback)),
  );
}

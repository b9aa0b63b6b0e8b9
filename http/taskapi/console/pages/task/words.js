// Events of a task's history in words.
import { h } from "../../core/dom.js";
import { clock, duration, number, words } from "../../core/format.js";
import { writeJson } from "../../core/json.js";
import { code } from "../../parts/basics.js";
import { shortWorker } from "./life.js";

const LONG = 300; // characters

export const shorten = (text) => (text.length > LONG ? `${text.slice(0, LONG)}…` : text);

/** Returns {tone, what, detail}: what has happened, and what else is known about it. */
export function describeEvent({ kind, data }) {
  if (kind === "status") return describeMove(data);
  if (kind === "progress") return { what: describeProgress(data), detail: duration((data.elapsed_ms ?? 0) / 1000) };
  if (kind === "control") return describeStage(data);
  if (kind === "payload") return { tone: "scheduled", what: "payload edited", detail: null };
  if (kind === "part") return { what: `part ${data.part} of ${data.of} summarized`, detail: shorten(String(data.summary)) };
  if (kind === "tool" && data.arguments) return { what: ["called ", code(data.name)], detail: shorten(String(data.arguments)) };
  if (kind === "tool") return { what: ["answer of ", code(data.name)], detail: shorten(String(data.result ?? "")) };
  if (typeof data.text === "string") return { what: kind, detail: shorten(data.text) };
  return { what: words(kind), detail: shorten(writeJson(data)) };
}

export const describeProgress = ({ percent, message }) =>
  [percent !== null && percent !== undefined && `${Math.round(percent)} %`, message && shorten(String(message))].filter(Boolean).join(" · ");

function describeMove({ from, to, attempt, worker_id: worker, gate, reason, error, by, available_at: due, message, schedule_id: schedule }) {
  const who = by ? `by ${by}` : "";
  const detail = [error && `${error.type}: ${shorten(String(error.message))}`, reason, message, who].filter(Boolean).join(" · ");
  const said = (what, more = detail) => ({ tone: to, what, detail: more });
  if (to === "waiting") return said([from ? "waits at " : "submitted, waits at ", code(gate)], reason);
  if (!from) return said(schedule ? "submitted by its schedule" : "submitted", to === "queued" ? who : [to, who].filter(Boolean).join(" "));
  if (to === "running") return said(`started, attempt ${number(attempt)}`, worker && `on ${shortWorker(worker)}`);
  if (to === "scheduled") return said(due ? `failed, runs again at ${clock(due)}` : "failed, runs again later");
  if (from === "waiting" && to === "queued") return said(["may start: passed ", code(gate ?? "its gate")], "");
  if (from === "scheduled" && to === "queued" && !detail) return said("due");
  if (to === "queued") return said(from === "running" ? "back in the queue" : "queued again");
  return said(to);
}

function describeStage({ stage, request, by, ...more }) {
  const rest = Object.entries(more).map(([name, value]) => `${words(name)} ${typeof value === "string" ? value : writeJson(value)}`);
  const what = stage === "requested" ? `${request ?? "stop"} requested` : String(stage);
  return { tone: stage === "stopped" ? "canceled" : "waiting", what, detail: shorten([by && `by ${by}`, ...rest].filter(Boolean).join(" · ")) };
}

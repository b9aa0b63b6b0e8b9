// What holds tasks up, who runs them, and what has died.
import { exactTime, duration, h, linkTo, number } from "../../core.js";
import { card, empty, link, meter, moment, places, row, showGate, table } from "../../parts.js";
import { nextStart, stateChip, useOf } from "../gates/words.js";

const MOST = 8; // rows of workers and of dead letters
const SLOW = 10; // seconds without a pulse that are worth a color

/** A card with a table and a link to all of them. */
const listCard = (title, path, all, { span = 5, class: also = "compact" }, headings, rows, ...ifEmpty) =>
  card(
    { key: title, title, note: rows.length > 0 && link(linkTo(path), all), span, class: also },
    rows.length ? table({ "aria-label": title }, headings, rows) : empty(...ifEmpty),
  );

/** Queues are in a list of their own. */
export function gatesCard(gates) {
  const rows = gates.filter(({ key }) => !key.startsWith("queue:")).map((gate) =>
    row(gate.key, showGate(gate.key), useOf(gate), h("td", { class: !gate.waiting && "faint" }, number(gate.waiting)), h("td.dim", nextStart(gate)), stateChip(gate)));
  return listCard("Gates", "/gates", "all gates", { span: 7, class: "gates" }, ["Gate", "In use", "Waiting", "Next start", "State"], rows,
    "No gate is in use.", "Gates limit how many tasks run at once, and how fast.");
}

/** Those that have been silent for too long come first. */
export function workersCard(workers) {
  const rows = [...workers.filter(isSilent), ...workers.filter((each) => !isSilent(each))].slice(0, MOST).map(workerRow);
  return listCard("Workers", "/workers", `all ${number(workers.length)}`, {}, ["Worker", "Threads", "Coroutines", "Pulse"], rows,
    "No worker is running.", "Without one, nothing starts.");
}

const isSilent = ({ alive, silent_seconds: silent }) => !alive || silent > SLOW;
const sayAge = (seconds) => (seconds < 1 ? "just now" : seconds < 60 ? `${Math.floor(seconds)} s ago` : `${duration(seconds)} ago`);

function workerRow(worker) {
  const { id, host, pid, maintainer, threads, threads_busy: busy, coroutines, coroutines_busy: active, silent_seconds: silent } = worker;
  return row(
    id,
    h("td", { title: id }, `${host} · ${pid}`, h("small", worker.stopping_at ? "shutting down" : maintainer && "maintainer")),
    places([{ busy, all: threads, name: "threads", tone: "running" }]),
    coroutines > 0 && h("span.use", meter(active, coroutines, { tone: "paused", label: `${active} of ${coroutines} coroutines` }), h("span", number(active))),
    h("td", { class: isSilent(worker) ? "late" : "dim", title: exactTime(worker.seen_at) }, sayAge(silent)),
  );
}

export function deadLettersCard({ dead_letters: groups, states: { dead } }) {
  const rows = groups.slice(0, MOST).map(({ actor, error_type: type, tasks, message, finished_at: at }) =>
    row(
      `${actor} ${type}`,
      h("td.cut", link(linkTo("/dead-letters", { actor, error_type: type }), h("b", type || "without a type")), h("small", { title: message }, `${actor}: ${message ?? ""}`)),
      h("td.dim", at && moment(at)),
      h("td.num", number(tasks)),
    ));
  return listCard("Dead letters", "/dead-letters", `all ${number(dead)}`, {}, ["Error", "Newest", "Tasks"], rows,
    "No dead letters.", "A task that fails for good is kept here until somebody repairs or dismisses it.");
}

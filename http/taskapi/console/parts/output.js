// What a task makes: text as it is written, the output of commands, and pictures, sound or films.
import { h, join, plural } from "../core.js";
import { card } from "./basics.js";
import "./media-content.js";

const LONGEST = 60_000; // characters of a text that are shown
const CONTENT = /^(?:\/api\/v1\/contents\/)?(gc_[0-9a-f]{32})$/;

/** `pieces`: the events of kind token and log since the running, or last, attempt has begun. */
export function showOutput(task, pieces) {
  const contents = findContents(task.result);
  const text = textOf(task.result) ?? joinPieces(pieces.tokens);
  const log = joinPieces(pieces.logs);
  const isLive = task.status === "running";
  if (!contents.length && !text && !log) return null;
  const tokens = pieces.tokens.length > 0 && plural(pieces.tokens.length, "token");
  const note = contents.length ? plural(contents.length, "file") : join([isLive && "live", tokens]);
  return card(
    { title: "Output", note, key: "output", class: "output" },
    contents.length > 0 && showContents(contents, labelOf(task)),
    text && h("div.text", { key: "text" }, shownEnd(text), isLive && h("i.cursor")),
    log && h("pre", { key: "log", tabindex: 0, "aria-label": "Output of commands" }, shownEnd(log)),
  );
}

/** Shows contents by their ids. */
export const showContents = (ids, label) =>
  h("div.contents", ids.map((id) => h("media-content", { key: id, props: { contentId: id, label } })));

const joinPieces = (events) => events.map(({ data }) => (typeof data.text === "string" ? data.text : "")).join("");
const shownEnd = (text) => (text.length > LONGEST ? `… ${text.slice(-LONGEST)}` : text);
const textOf = (result) => [result, result?.summary, result?.text].find((each) => typeof each === "string" && !CONTENT.test(each)) ?? null;
const labelOf = ({ payload }) => (typeof payload.prompt === "string" ? payload.prompt : "Result");

/** The ids of all contents that a result names, in their order. */
export function findContents(result) {
  const found = new Set();
  function search(value) {
    const id = typeof value === "string" && CONTENT.exec(value)?.[1];
    if (id) found.add(id);
    else if (value && typeof value === "object") for (const each of Object.values(value)) search(each);
  }
  search(result);
  return [...found].slice(0, 24);
}

// The language of the filter: "status:dead target:"depot 7" words". Its qualifiers are the filters of GET /tasks; all other
// words are its text. Values to suggest are those that the server declares, and those that were seen in tasks.
import { api, STATUSES } from "../core.js";

const FIXED = { status: STATUSES, lane: ["primary", "retry"] };
export const QUALIFIERS = {
  status: "what state it is in",
  actor: "the kind of work",
  tenant: "whose it is",
  target: "what it works on, one at a time",
  queue: "where it lines up",
  lane: "primary, or retry after a failure",
  error_type: "how it failed last",
  agent_name: "an agent's name",
  task_type: "what the agent does",
  workflow_id: "the workflow it belongs to",
  workflow_run_id: "the run in its payload",
};
const TOKEN = /(?:"[^"]*"?|[^\s"])+/g;

/** Returns {filters, text, tokens, errors}; a token is {start, end, name?, value, error?}. */
export function parseFilter(query) {
  const filters = {};
  const words = [];
  const tokens = [...query.matchAll(TOKEN)].map(({ 0: word, index: start }) => {
    const [, name, rest] = /^([a-z_]+):(.*)$/is.exec(word) ?? [null, undefined, word];
    const value = rest.replaceAll('"', "");
    const token = { start, end: start + word.length, name, value };
    token.error = findError(name, value, word, filters);
    if (!token.error && name) filters[name] = value;
    if (!token.error && !name) words.push(word);
    return token;
  });
  const text = words.join(" ");
  if (text.length > 500) tokens.at(-1).error = "A text may have 500 characters.";
  return { filters, text, tokens, errors: tokens.filter((token) => token.error) };
}

function findError(name, value, word, filters) {
  if (word.split('"').length % 2 === 0) return "This quote has no end.";
  if (!name) return null;
  if (!(name in QUALIFIERS)) {
    return `There is no qualifier “${name}”. There are ${Object.keys(QUALIFIERS).join(", ")}. To search for this text, put it in quotes.`;
  }
  if (name in filters) return `“${name}” is there twice. A task must match all words, so one is enough.`;
  if (!value) return `“${name}:” needs a value right after the colon.`;
  if (FIXED[name] && !FIXED[name].includes(value)) return `“${value}” is no ${name}. There are ${FIXED[name].join(", ")}.`;
  return null;
}

export const writeQualifier = (name, value) => name + (/\s/.test(value) ? `:"${value}"` : `:${value}`);

/** Returns the query with another value for a qualifier, or without it. */
export function withQualifier(query, name, value) {
  const { tokens } = parseFilter(query);
  const others = tokens.filter((token) => token.name !== name).map((token) => query.slice(token.start, token.end));
  return (value ? [writeQualifier(name, value), ...others] : others).join(" ");
}

/** The parameters of GET /tasks. */
export const toParameters = ({ filters, text }) => (text ? { ...filters, text } : filters);

const known = new Map(Object.keys(QUALIFIERS).map((name) => [name, new Set(FIXED[name])]));
const MOST = 500; // values of a qualifier that are kept

export function noteValues(named) {
  for (const [name, values] of known) {
    const value = named[name];
    if (value && values.size < MOST && !FIXED[name] && !value.includes('"')) values.add(value);
  }
}

let declared = null;

/** Reads what is declared, once. */
export function readDeclared() {
  declared ??= Promise.all([api.get("/actors"), api.get("/agents")]).then(
    ([actors, agents]) => {
      actors.items.forEach(({ name, queue }) => noteValues({ actor: name, queue }));
      agents.items.forEach(noteValues);
    },
    () => (declared = null),
  );
  return declared;
}

/** Returns what the word at the caret may become: [{word, note}], and where that word is. */
export function suggest(query, caret, most = 9) {
  const { tokens } = parseFilter(query);
  const token = tokens.find(({ start, end }) => start < caret && caret <= end) ?? { start: caret, end: caret, value: "" };
  const typed = query.slice(token.start, caret).toLowerCase();
  const taken = new Set(tokens.filter((each) => each !== token).map((each) => each.name));
  const options = [];
  const colon = typed.indexOf(":");
  for (const [name, note] of Object.entries(QUALIFIERS)) {
    if (taken.has(name) || (colon >= 0 && typed.slice(0, colon) !== name)) continue;
    if (colon < 0 && name.includes(typed)) options.push({ word: `${name}:`, note });
    const begun = (colon < 0 ? typed : typed.slice(colon + 1)).replaceAll('"', "");
    if (colon < 0 && begun.length < 2) continue;
    for (const value of known.get(name)) {
      if (value.toLowerCase().includes(begun)) options.push({ word: writeQualifier(name, value), note: "" });
    }
  }
  const isFinished = options.length === 1 && options[0].word.toLowerCase() === typed;
  return { options: isFinished ? [] : options.slice(0, colon < 0 && !typed ? 11 : most), start: token.start, end: token.end };
}

// What a gate's state means, in words.
import { duration, exactTime, h, number, secondsSince, words } from "../../core.js";
import { chip, link, meter, moment } from "../../parts.js";

/** Counts down to the next start. */
const next = (before, due = "now") => {
  const show = (at) => (secondsSince(at) >= 0 ? due : `${before} ${duration(Math.ceil(-secondsSince(at)))}`);
  return ({ next_at: at }) => moment(at, show);
};
const within = next("in");
const inAbout = next("in about", "any moment");

// By state: its name, its tone, and when the next task starts.
const STATES = {
  open: ["open", "completed", "now"],
  full: ["full", "waiting", (gate) => (gate.max_concurrent === 0 ? "when the limit is raised" : gate.next_at ? inAbout(gate) : "when one ends")],
  rate: ["rate used up", "waiting", within],
  paused: ["paused", "paused", "when it is resumed"],
  closed: ["closed", "waiting", next("opens in")],
  breaker_open: ["breaker open", "dead", next("probe in", "probe due")],
  breaker_half_open: ["probing", "waiting", "when the probe ends"],
  blocked: ["blocked", "dead", () => link("/targets", "when its first task is resolved")],
  unknown_actor: ["no worker", "dead", "when a worker knows the actor"],
};

/** [name, tone] of a state. */
export const nameState = (state) => STATES[state].slice(0, 2);
export const stateChip = ({ state }) => chip(...nameState(state));

export function nextStart(gate) {
  const [, , start] = STATES[gate.state];
  return start.call ? start(gate) : start;
}

/** "3 / 5" with a bar; without a limit the number alone. */
export function useOf({ key, running, max_concurrent: limit }) {
  const most = limit ?? (key.startsWith("target:") ? 1 : null);
  if (most === null) return h("span.use", h("span", number(running)));
  const bar = meter(running, most, { tone: running >= most ? "waiting" : "running", label: `${key}: ${running} of ${most} running` });
  return h("span.use", bar, h("span", `${number(running)} / ${number(most)}`));
}

/** "7 of 10 left, more in 12 s"; null without a rate. */
export function rateOf({ rate_count: count, rate_seconds: seconds, rate_left: left, rate_next_at: at }) {
  if (count === null) return null;
  const title = `At most ${number(count)} starts in ${duration(seconds)}`;
  return h("span", { title }, `${number(left)} of ${number(count)} left`, left < count && at && [", more ", within({ next_at: at })]);
}

const write = (value) => (typeof value === "number" ? number(value) : (value ?? "none"));
const writeRate = (count, seconds) => (count === null ? "none" : `${number(count)} in ${duration(seconds)}`);
const writeBreaker = (share, volume, window, seconds) =>
  share === null ? "none" : `${share} of at least ${number(volume)} results in ${duration(window)}, open for ${duration(seconds)}`;

// What the code can declare: its name, how it is written, and its fields, each also with the prefix "declared_".
const DECLARED = [
  ["limit", write, "concurrent"],
  ["rate", writeRate, "rate_count", "rate_seconds"],
  ["breaker", writeBreaker, "breaker_threshold", "breaker_volume", "breaker_window", "breaker_seconds"],
];

/** Sentences that say where a gate differs from what the code declares. */
export function differences(gate) {
  if (!gate.has_settings) return [];
  return DECLARED.flatMap(([what, say, ...fields]) => {
    const is = say(...fields.map((name) => gate[name] ?? gate[`max_${name}`] ?? null));
    const said = say(...fields.map((name) => gate[`declared_${name}`]));
    return is === said ? [] : `The ${what} is ${is}; the code declares ${said}.`;
  });
}

const NAMES = { max_concurrent: "limit", declared_concurrent: "limit in the code" };

/** What a change was: "limit 3 → 5", "paused". */
export function changeWords([field, [before, after]]) {
  if (field === "paused") return after ? "paused" : "resumed";
  if (field === "breaker_state") return `breaker ${after === "closed" ? "closed" : "opened"}`;
  if (field === "closed_until") return after ? `closed until ${exactTime(after)}` : "opened";
  return `${NAMES[field] ?? words(field)} ${write(before)} → ${write(after)}`;
}

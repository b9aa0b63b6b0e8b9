// What a gate's state means, in words.
import { h } from "../../core/dom.js";
import { duration, exactTime, number, secondsSince } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { chip, link, meter } from "../../parts/basics.js";

const STATES = {
  open: ["open", "completed"],
  full: ["full", "waiting"],
  rate: ["rate used up", "waiting"],
  paused: ["paused", "paused"],
  closed: ["closed", "waiting"],
  breaker_open: ["breaker open", "dead"],
  breaker_half_open: ["probing", "waiting"],
  blocked: ["blocked", "dead"],
  unknown_actor: ["no worker", "dead"],
};

export const stateChip = ({ state }) => chip(...STATES[state]);

/** Whether the gate lets tasks start again only when somebody does something. */
export const needsSomebody = ({ state, max_concurrent: limit }) =>
  ["paused", "blocked", "unknown_actor"].includes(state) || (state === "full" && limit === 0);

const countdown = (before, due) => (at) => (secondsSince(at) >= 0 ? due : `${before} ${duration(Math.ceil(-secondsSince(at)))}`);
const show = (at, words) => h("moment-text", { props: { at, show: words } });
const inAbout = countdown("in about", "any moment");
const within = countdown("in", "now");
const probe = countdown("probe in", "probe due");
const opens = countdown("opens in", "now");

/** When the next task can start. */
export function nextStart(gate) {
  const { state, next_at: at, max_concurrent: limit } = gate;
  switch (state) {
    case "full":
      return limit === 0 ? "when the limit is raised" : at ? show(at, inAbout) : "when one ends";
    case "rate":
      return show(at, within);
    case "closed":
      return show(at, opens);
    case "breaker_open":
      return show(at, probe);
    case "breaker_half_open":
      return "when the probe ends";
    case "paused":
      return "when it is resumed";
    case "blocked":
      return link(linkTo("/targets"), "when its first task is resolved");
    case "unknown_actor":
      return "when a worker knows the actor";
    default:
      return "now";
  }
}

/** "3 / 5" with a bar; without a limit the number alone. */
export function useOf({ key, running, max_concurrent: limit }) {
  const most = limit ?? (key.startsWith("target:") ? 1 : null);
  const text = most === null ? number(running) : `${number(running)} / ${number(most)}`;
  const tone = most !== null && running >= most ? "waiting" : "running";
  return h("span", { class: "use" }, most !== null && meter(running, most, { tone, label: `${key}: ${running} of ${most} running` }), h("span", null, text));
}

/** "7 of 10 left, more in 12 s"; null without a rate. */
export function rateOf({ rate_count: count, rate_seconds: seconds, rate_left: left, rate_next_at: at }) {
  if (count === null) return null;
  const title = `At most ${number(count)} starts in ${duration(seconds)}${at ? `; one more from ${exactTime(at)} on` : ""}`;
  return h("span", { title }, `${number(left)} of ${number(count)} left`, left < count && at && [", more ", show(at, within)]);
}

const limitOf = (value) => (value === null ? "none" : number(value));
const rate = (count, seconds) => (count === null ? "none" : `${number(count)} in ${duration(seconds)}`);
const breaker = (threshold, volume, window, seconds) =>
  threshold === null ? "none" : `${threshold} of at least ${number(volume)} results in ${duration(window)}, open for ${duration(seconds)}`;

/** Sentences that say where a gate differs from what the code declares. */
export function differences(gate) {
  const of = (names) => names.map((name) => gate[name]);
  const rateNames = ["rate_count", "rate_seconds"];
  const breakerNames = ["breaker_threshold", "breaker_volume", "breaker_window", "breaker_seconds"];
  const declared = (names) => of(names.map((name) => `declared_${name}`));
  const pairs = [
    ["limit", limitOf(gate.max_concurrent), limitOf(gate.declared_concurrent)],
    ["rate", rate(...of(rateNames)), rate(...declared(rateNames))],
    ["breaker", breaker(...of(breakerNames)), breaker(...declared(breakerNames))],
  ];
  return pairs.filter(([, is, said]) => is !== said).map(([name, is, said]) => `The ${name} is ${is}; the code declares ${said}.`);
}

const FIELDS = {
  max_concurrent: ["limit", limitOf],
  declared_concurrent: ["the code's limit", limitOf],
  closed_until: ["closed until", (value) => (value === null ? "open" : exactTime(value))],
};

/** What a change was: "limit 3 → 5", "paused". */
export function changeWords(field, [before, after]) {
  if (field === "paused") return after ? "paused" : "resumed";
  if (field === "breaker_state") return `breaker ${after === "closed" ? "closed" : "opened"}`;
  const [name, write] = FIELDS[field] ?? [field.replaceAll("_", " ").replace("declared", "the code's"), (value) => value ?? "none"];
  return `${name} ${write(before)} → ${write(after)}`;
}

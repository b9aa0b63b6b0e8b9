// What a gate's state means, in words.
import { h } from "../../core/dom.js";
import { duration, exactTime, number, secondsSince } from "../../core/format.js";
import { linkTo } from "../../core/router.js";
import { chip, link, meter } from "../../parts/basics.js";
import "../../parts/moment-text.js";

const countdown = (before, due) => (at) => (secondsSince(at) >= 0 ? due : `${before} ${duration(Math.ceil(-secondsSince(at)))}`);
const show = (at, words) => h("moment-text", { props: { at, show: words } });
const within = countdown("in", "now");
const inAbout = countdown("in about", "any moment");
const opens = countdown("opens in", "now");
const probe = countdown("probe in", "probe due");

// By state: its name, its tone, and when the next task starts.
const STATES = {
  open: ["open", "completed", () => "now"],
  full: ["full", "waiting", ({ max_concurrent: limit, next_at: at }) => (limit === 0 ? "when the limit is raised" : at ? show(at, inAbout) : "when one ends")],
  rate: ["rate used up", "waiting", ({ next_at: at }) => show(at, within)],
  paused: ["paused", "paused", () => "when it is resumed"],
  closed: ["closed", "waiting", ({ next_at: at }) => show(at, opens)],
  breaker_open: ["breaker open", "dead", ({ next_at: at }) => show(at, probe)],
  breaker_half_open: ["probing", "waiting", () => "when the probe ends"],
  blocked: ["blocked", "dead", () => link(linkTo("/targets"), "when its first task is resolved")],
  unknown_actor: ["no worker", "dead", () => "when a worker knows the actor"],
};

/** [name, tone] of a state. */
export const nameState = (state) => STATES[state].slice(0, 2);
export const stateChip = ({ state }) => chip(...nameState(state));
export const nextStart = (gate) => STATES[gate.state][2](gate);

/** "3 / 5" with a bar; without a limit the number alone. */
export function useOf({ key, running, max_concurrent: limit }) {
  const most = limit ?? (key.startsWith("target:") ? 1 : null);
  if (most === null) return h("span", { class: "use" }, h("span", null, number(running)));
  const label = `${key}: ${running} of ${most} running`;
  const tone = running >= most ? "waiting" : "running";
  return h("span", { class: "use" }, meter(running, most, { tone, label }), h("span", null, `${number(running)} / ${number(most)}`));
}

/** "7 of 10 left, more in 12 s"; null without a rate. */
export function rateOf({ rate_count: count, rate_seconds: seconds, rate_left: left, rate_next_at: at }) {
  if (count === null) return null;
  const title = `At most ${number(count)} starts in ${duration(seconds)}`;
  return h("span", { title }, `${number(left)} of ${number(count)} left`, left < count && at && [", more ", show(at, within)]);
}

const write = (value) => (typeof value === "number" ? number(value) : (value ?? "none"));
const WRITTEN = {
  limit: [["max_concurrent", "declared_concurrent"], write],
  rate: [["rate_count", "rate_seconds"], (count, seconds) => (count === null ? "none" : `${number(count)} in ${duration(seconds)}`)],
  breaker: [
    ["breaker_threshold", "breaker_volume", "breaker_window", "breaker_seconds"],
    (share, volume, window, seconds) =>
      share === null ? "none" : `${share} of at least ${number(volume)} results in ${duration(window)}, open for ${duration(seconds)}`,
  ],
};

/** Sentences that say where a gate differs from what the code declares. */
export function differences(gate) {
  return Object.entries(WRITTEN).flatMap(([what, [names, words]]) => {
    const is = words(...names.map((name) => gate[name]));
    const said = what === "limit" ? words(gate.declared_concurrent) : words(...names.map((name) => gate[`declared_${name}`]));
    return is === said ? [] : [`The ${what} is ${is}; the code declares ${said}.`];
  });
}

const NAMES = { max_concurrent: "limit", declared_concurrent: "limit in the code" };

/** What a change was: "limit 3 → 5", "paused". */
export function changeWords(field, [before, after]) {
  if (field === "paused") return after ? "paused" : "resumed";
  if (field === "breaker_state") return `breaker ${after === "closed" ? "closed" : "opened"}`;
  if (field === "closed_until") return after ? `closed until ${exactTime(after)}` : "opened";
  return `${NAMES[field] ?? field.replaceAll("_", " ")} ${write(before)} → ${write(after)}`;
}

// Numbers, times and sizes as people read them.
import { connection } from "./connection.js";

const whole = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const number = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const compact = (value) => (value === null || value === undefined ? "–" : short.format(value));
export const percent = (share) => `${Math.round(share * 100)} %`;
export const plural = (count, word, many = `${word}s`) => `${number(count)} ${count === 1 ? word : many}`;
export const exactTime = (at) => exact.format(new Date(at));
export const clock = (at) => clockTime.format(new Date(at));

/** "840 ms", "8.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h" */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.0005) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  for (const [size, unit, smaller, smallerUnit] of [
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "min"],
    [60, "min", 1, "s"],
  ]) {
    if (total < size) continue;
    const rest = Math.floor((total % size) / smaller);
    return `${Math.floor(total / size)} ${unit}` + (rest ? ` ${rest} ${smallerUnit}` : "");
  }
  return `${total} s`;
}

/** Seconds from a moment until now; negative if it is to come. */
export const secondsSince = (at) => (connection.now() - Date.parse(at)) / 1000;

/** "just now", "8 s ago", "in 3 min" */
export function relative(at) {
  const seconds = secondsSince(at);
  const size = Math.abs(seconds);
  if (size < 1) return "just now";
  const text = size < 60 ? `${Math.floor(size)} s` : size < 3600 ? `${Math.floor(size / 60)} min` : duration(size);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** "12 s", "3 min 20 s": how long it is since a moment, in whole seconds. */
export function elapsed(at) {
  const seconds = Math.max(0, Math.floor(secondsSince(at)));
  return seconds < 60 ? `${seconds} s` : duration(seconds);
}

export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = count ? Math.min(4, Math.floor(Math.log10(count) / 3)) : 0;
  return `${(count / 1000 ** power).toFixed(power && count / 1000 ** power < 10 ? 1 : 0)} ${units[power]}`;
}

/** The seconds from one moment to another, or to now. */
export const secondsBetween = (begin, end) => (end ? (Date.parse(end) - Date.parse(begin)) / 1000 : secondsSince(begin));

/** The texts that there are, as one. */
export const join = (texts, separator = ", ") => texts.filter(Boolean).join(separator);

/** "tq_01a1…846b": the end tells ids of one moment apart. */
export const shortId = (id) => (id.length > 16 ? `${id.slice(0, 7)}…${id.slice(-4)}` : id);

/** "provider_limit" → "provider limit" */
export const words = (name) => name.replaceAll("_", " ");

// Schedules in words, and their ticks on the clocks of their zone.
import { exactTime, h, secondsSince } from "../../core.js";

const FEW_DAYS = 6 * 86_400; // seconds: further away, a weekday does not tell the date
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const NEAR = { weekday: "short", ...TIME };
const FAR = { year: "numeric", month: "short", day: "numeric", ...TIME };
const formats = new Map();

export const schedulePath = ({ schedule_id: id }) => `/schedules/${id}`;

/** "text · statistics" of an agent, or the name of an actor. */
export const workOf = ({ actor, payload }) => (actor === "agent" ? `${payload.agent_name} · ${payload.task_type}` : actor);

/** A tick as the clocks of the zone show it: "Mon 06:30", or with its date. */
export function showTick(at, zone) {
  const isNear = Math.abs(secondsSince(at)) < FEW_DAYS;
  const key = zone + isNear;
  if (!formats.has(key)) formats.set(key, makeFormat(isNear ? NEAR : FAR, zone));
  return h("time", { key: at, datetime: at, title: exactTime(at) }, formats.get(key).format(Date.parse(at)));
}

function makeFormat(shown, timeZone) {
  try {
    return new Intl.DateTimeFormat("en-US", { ...shown, timeZone });
  } catch {
    return makeFormat({ ...shown, timeZoneName: "short" }, "UTC"); // the browser does not know the zone
  }
}

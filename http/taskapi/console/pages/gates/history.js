// The last hour of a gate, put together from samples, changes and what it is now.
import { nameState } from "./words.js";

const HOUR = 3_600_000;
const LOST = 60_000; // without a sample for so long while it was in use, nobody knows
const CLOSURES = ["paused", "closed", "breaker_open", "breaker_half_open"];
const timeOf = ({ at }) => Date.parse(at);

/** The samples of the last hour, with those that are new. */
export function addSamples(samples, added, now) {
  const last = samples.length ? timeOf(samples.at(-1)) : 0;
  return [...samples, ...added.filter((each) => timeOf(each) > last)].filter((each) => timeOf(each) > now - HOUR);
}

/** Plots of the use and of the line of a gate; no second one if nobody has waited. */
export function makePlots(gate, samples, changes, now) {
  const from = now - HOUR;
  const plot = (name, label, tone, more) => {
    const points = makePoints(samples, name, gate[name], from, now);
    return { label, from, to: now, whole: true, series: [{ name, tone, points, filled: true, steps: true }], ...more };
  };
  const limits = makeLimits(gate, samples, changes, from, now);
  const limit = limits.some(([, value]) => value !== null) ? { name: "limit", points: limits } : undefined;
  const use = plot("running", "Tasks that ran at once in the last hour", "running", { limit, height: 190, bands: makeBands(gate, samples, changes, from, now) });
  const line = plot("waiting", "Tasks that waited in the last hour", "waiting", { height: 110 });
  return line.series[0].points.some(([, value]) => value > 0) ? [use, line] : [use];
}

function makePoints(samples, name, value, from, now) {
  const points = [[from, 0]]; // without samples it was at rest
  let known = Infinity; // until when it is known, while it is in use
  for (const sample of samples) {
    if (timeOf(sample) > known) points.push([known, null]);
    points.push([timeOf(sample), sample[name]]);
    known = sample.running > 0 || sample.waiting > 0 ? timeOf(sample) + LOST : Infinity;
  }
  if (now > known) points.push([known, null]);
  return [...points, [now, value]];
}

/** The limit, at the exact times of its changes; a change by plain SQL is seen at the next sample. */
function makeLimits(gate, samples, changes, from, now) {
  const known = samples.map((each) => [timeOf(each), each.max_concurrent]);
  for (const change of changes) {
    const [before, after] = change.changes.max_concurrent ?? [];
    if (before !== undefined && timeOf(change) > from) known.push([timeOf(change) - 1, before], [timeOf(change), after]);
  }
  known.sort(([one], [other]) => one - other);
  return [[from, known.length ? known[0][1] : gate.max_concurrent], ...known, [now, gate.max_concurrent]];
}

/** When nothing could start, whatever the limit. */
function makeBands(gate, samples, changes, from, now) {
  const bands = [];
  const add = (state, start, end) => {
    const [name, tone] = nameState(state);
    const last = bands.at(-1);
    if (last?.name === name && start - last.to < LOST) last.to = end;
    else bands.push({ name, tone, from: start, to: end });
  };
  samples.forEach((sample, index) => {
    const next = samples[index + 1] ?? sample;
    if (sample.closed_by) add(sample.closed_by, timeOf(sample), Math.min(timeOf(next), timeOf(sample) + LOST));
  });
  if (CLOSURES.includes(gate.state)) {
    const change = changes.find(({ changes: fields }) => fields.paused || fields.closed_until || fields.breaker_state);
    add(gate.state, Math.max(from, change ? timeOf(change) : now), now);
  }
  return bands;
}

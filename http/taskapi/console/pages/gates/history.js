// The last hour of a gate, put together from samples, changes and what it is now.
const HOUR = 3_600_000;
const LOST = 60_000; // without a sample for so long while it was in use, nobody knows
const BANDS = {
  paused: ["paused", "paused"],
  closed: ["closed", "waiting"],
  breaker_open: ["breaker open", "dead"],
  breaker_half_open: ["probing", "waiting"],
};

/** Returns the samples of the last hour, with those that are new. */
export function addSamples(samples, added, now) {
  const known = new Set(samples.map((each) => each.at));
  const all = [...samples, ...added.filter((each) => !known.has(each.at))];
  return all.filter((each) => Date.parse(each.at) > now - HOUR);
}

/** Plots of the use and of the line of a gate. */
export function makePlots(gate, samples, changes, now) {
  const from = now - HOUR;
  const [running, waiting] = ["running", "waiting"].map((name) => makePoints(samples, name, gate[name], from, now));
  const limits = makeLimits(gate, samples, changes, from, now);
  const bands = makeBands(gate, samples, changes, from, now);
  const whole = true;
  return {
    use: {
      label: "Tasks that ran at once in the last hour", from, to: now, whole, bands,
      series: [{ name: "running", tone: "running", points: running, filled: true, steps: true }],
      limit: limits.some(([, value]) => value !== null) ? { name: "limit", points: limits } : undefined,
    },
    line: waiting.some(([, value]) => value > 0) && {
      label: "Tasks that waited in the last hour", from, to: now, whole, height: 96,
      series: [{ name: "waiting", tone: "waiting", points: waiting, filled: true, steps: true }],
    },
  };
}

function makePoints(samples, name, value, from, now) {
  const points = [[from, 0]]; // without samples it was at rest
  let last = null;
  for (const sample of samples) {
    const at = Date.parse(sample.at);
    if (last && last.inUse && at - last.at > LOST) points.push([last.at + LOST, null]);
    points.push([at, sample[name]]);
    last = { at, inUse: sample.running > 0 || sample.waiting > 0 };
  }
  if (last?.inUse && now - last.at > LOST) points.push([last.at + LOST, null]);
  points.push([now, value]);
  return points;
}

/** The limit, at the exact times of its changes; a change by plain SQL is seen at the next sample. */
function makeLimits(gate, samples, changes, from, now) {
  const known = samples.map((each) => [Date.parse(each.at), each.max_concurrent]);
  for (const { at, changes: fields } of changes) {
    if (!fields.max_concurrent || Date.parse(at) < from) continue;
    const [before, after] = fields.max_concurrent;
    known.push([Date.parse(at) - 1, before], [Date.parse(at), after]);
  }
  known.sort(([one], [other]) => one - other);
  return [[from, known.length ? known[0][1] : gate.max_concurrent], ...known, [now, gate.max_concurrent]];
}

function makeBands(gate, samples, changes, from, now) {
  const bands = [];
  const add = (closed, start, end) => {
    const last = bands.at(-1);
    const [name, tone] = BANDS[closed];
    if (last?.name === name && start - last.to < LOST) last.to = end;
    else bands.push({ name, tone, from: start, to: end });
  };
  samples.forEach((sample, index) => {
    if (!sample.closed_by) return;
    const at = Date.parse(sample.at);
    const next = samples[index + 1];
    add(sample.closed_by, at, next ? Math.min(Date.parse(next.at), at + LOST) : at);
  });
  if (BANDS[gate.state]) {
    const change = changes.find(({ changes: fields }) => fields.paused || fields.closed_until || fields.breaker_state);
    add(gate.state, Math.max(from, change ? Date.parse(change.at) : now), now);
  }
  return bands;
}

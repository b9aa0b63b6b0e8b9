// The last hour as lines: how much was done, and how long it took.

/** `lines`: name, field of a minute, and tone; the area below the last one is filled. */
function draw({ at, history }, label, lines, more) {
  const to = Date.parse(at);
  const pointsOf = (field) => history.map((minute) => [Date.parse(minute.minute), minute[field]]);
  const series = lines.map(([name, field, tone], index) => ({ name, tone, points: pointsOf(field), filled: index === lines.length - 1 }));
  return { label, from: to - 3_600_000, to, height: 130, series, ...more };
}

export const drawThroughput = (now) =>
  draw(now, "Tasks per minute in the last hour", [
    ["submitted", "created", "queued"], ["failed attempts", "attempts_failed", "dead"], ["completed", "completed", "completed"],
  ], { whole: true });

export const drawLatency = (now) =>
  draw(now, "How long completed tasks have taken in the last hour", [
    ["from start to end", "run_seconds", "running"], ["until the start", "start_seconds", "waiting"],
  ], { show: write });

/** "0.25 s", "1.5 min" */
function write(seconds) {
  const [size, unit] = seconds < 60 ? [1, "s"] : seconds < 3600 ? [60, "min"] : [3600, "h"];
  return `${Number((seconds / size).toPrecision(2))} ${unit}`;
}

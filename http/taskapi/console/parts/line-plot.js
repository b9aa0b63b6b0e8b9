// Lines over time as SVG, with the values at the pointer, or at the place that the arrow keys have chosen.
import { clock, compact, define, h, View } from "../core.js";

const HEIGHT = 150;
const RIGHT = 40; // for the scale
const TOP = 16;
const BOTTOM = 22;
const MOST_TICKS = 4;

/** `plot`: {label, from, to (milliseconds), series: [{name, tone, points: [[at, value]], filled?, steps?}], show(value),
 *  limit: {name, value, points?}, bands: [{name, tone, from, to}], whole: the values are whole numbers, height}.
 *  A value of null is a gap. With `steps`, a value holds until the next point. */
class LinePlot extends View {
  #pointer = null; // a moment
  #width = 640;
  #sizes = new ResizeObserver(([entry]) => this.#resize(entry.contentRect.width));

  content() {
    const { label, from, to, series, limit, bands = [], show = compact, whole, height = HEIGHT } = this.plot ?? {};
    if (!series) return [];
    const right = this.#width - RIGHT;
    const limitPoints = limit && (limit.points?.length ? limit.points : [[from, limit.value], [to, limit.value]]);
    const values = [...series.flatMap(({ points }) => points), ...(limitPoints ?? [])].map(([, value]) => value ?? 0);
    const ticks = makeTicks(values.reduce((most, value) => Math.max(most, value), 0), whole);
    const x = (at) => Math.round(((Math.min(to, Math.max(from, at)) - from) / (to - from)) * right * 10) / 10;
    const y = (value) => Math.round((TOP + (1 - value / ticks.at(-1)) * (height - TOP - BOTTOM)) * 10) / 10;
    const now = series.map((each) => `${each.name}: ${show(each.points.at(-1)?.[1] ?? 0)} now`);
    return [
      h(
        "div.legend",
        series.map(({ name, tone }) => h("span", { key: name, class: `s-${tone}` }, name)),
        limit && h("span.limit", { key: "limit" }, limit.name),
        [...new Map(bands.map((band) => [band.name, band])).values()].map(({ name, tone }) =>
          h("span", { key: `band ${name}`, class: `band s-${tone}` }, name),
        ),
      ),
      h(
        "svg.plot",
        {
          viewBox: `0 0 ${this.#width} ${height}`,
          height,
          role: "img",
          tabindex: 0,
          "aria-label": `${label}. ${now.join(", ")}.`,
          onpointermove: (event) => this.#point(from + (to - from) * this.#shareAt(event)),
          onpointerleave: () => this.#point(null),
          onkeydown: (event) => this.#press(event, from, to),
          onblur: () => this.#point(null),
        },
        bands.map((band, index) =>
          h("rect", {
            key: `band ${index}`, class: `band s-${band.tone}`, x: x(band.from), y: TOP,
            width: Math.max(1, x(band.to) - x(band.from)), height: height - TOP - BOTTOM,
          }),
        ),
        ticks.map((value) => [
          h("path.grid-line", { d: `M0 ${y(value)}H${right}` }),
          h("text", { x: right + 6, y: y(value) + 4 }, show(value)),
        ]),
        [from, (from + to) / 2, to].map((at, index) =>
          h("text", { x: x(at), y: height - 6, "text-anchor": ["start", "middle", "end"][index] }, clock(at).slice(0, 5)),
        ),
        series.map(({ name, tone, points, filled, steps }) =>
          split(points).map((part, index) => {
            const line = draw(part, x, y, steps);
            const area = `${line}V${y(0)}H${x(part[0][0])}Z`;
            return [
              filled && h("path", { key: `area ${name} ${index}`, class: `area s-${tone}`, d: area }),
              h("path", { key: `line ${name} ${index}`, class: `line s-${tone}`, d: line }),
            ];
          }),
        ),
        limitPoints &&
          split(limitPoints).map((part, index) =>
            h("path.limit-line", { key: `limit ${index}`, d: draw(part, x, y, true) }),
          ),
        this.#pointer !== null && this.#values({ series, limit, limitPoints, show, x, height }),
      ),
    ];
  }

  shown() {
    const svg = this.querySelector("svg");
    if (svg) this.#sizes.observe(svg); // once, however often
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  /** One unit of the picture is one pixel, so texts are as large on a phone. */
  #resize(width) {
    if (width < 1 || Math.abs(width - this.#width) < 1) return;
    this.#width = Math.round(width);
    this.update();
  }

  #shareAt(event) {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / (box.width - RIGHT)));
  }

  #point(at) {
    this.#pointer = at;
    this.update();
  }

  #press(event, from, to) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.#pointer === null ? to : this.#pointer + (step * (to - from)) / 60;
    this.#point(Math.min(to, Math.max(from, at)));
  }

  #values({ series, limit, limitPoints, show, x, height }) {
    const at = this.#pointer;
    const nearest = (points) => points.reduce((best, each) => (best && Math.abs(best[0] - at) <= Math.abs(each[0] - at) ? best : each), null);
    const latest = (points) => points.findLast(([each]) => each <= at);
    const found = series.map(({ name, points, steps }) => [name, steps ? latest(points) : nearest(points)]);
    if (limit) found.push([limit.name, latest(limitPoints)]);
    const known = found.filter(([, point]) => point && point[1] !== null);
    const moment = series[0]?.steps ? at : (known[0]?.[1][0] ?? at);
    const position = x(moment);
    const anchor = position > this.#width / 2 ? "end" : "start";
    const text = [clock(moment), ...known.map(([name, [, value]]) => `${name} ${show(value)}`)].join(" · ");
    return [
      h("path.pointer", { key: "pointer", d: `M${position} ${TOP}V${height - BOTTOM}` }),
      h("text.values", { key: "values", x: position + (anchor === "end" ? -6 : 6), y: TOP - 4, "text-anchor": anchor }, text),
    ];
  }
}
define("line-plot", LinePlot, "plot");

/** Parts without gaps. */
function split(points) {
  const parts = [[]];
  for (const point of points) {
    if (point[1] !== null && point[1] !== undefined) parts.at(-1).push(point);
    else parts.push([]);
  }
  return parts.filter((part) => part.length);
}

function draw(points, x, y, steps) {
  return points.map(([at, value], index) => (index ? (steps ? `H${x(at)}V${y(value)}` : `L${x(at)} ${y(value)}`) : `M${x(at)} ${y(value)}`)).join("");
}

/** Round numbers from 0 to one that is not below the greatest value. */
function makeTicks(most, whole) {
  const least = most > 0 ? most / MOST_TICKS : 0.25;
  const size = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(whole ? 1 : 0, [1, 2, 5, 10].map((each) => each * size).find((each) => each >= least * 0.999));
  const count = Math.max(1, Math.ceil(most / step - 0.001));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

export const linePlot = (plot) => h("line-plot", { props: { plot } });

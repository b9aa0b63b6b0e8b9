// Lines over time as SVG, with the values at the pointer. Also readable as a table by screen readers.
import { h } from "../core/dom.js";
import { clock, compact } from "../core/format.js";
import { View, property } from "../core/view.js";

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 0;
const RIGHT = 40; // for the scale
const TOP = 14;
const BOTTOM = 22;

/** `plot`: {label, from, to (milliseconds), series: [{name, tone, points: [[at, value]], filled?}], show(value),
 *  limit: {name, value, points?} } */
class LinePlot extends View {
  #pointer = null; // a moment

  content() {
    const { label, from, to, series, limit, show = compact } = this.plot ?? {};
    if (!series) return [];
    const values = series.flatMap(({ points }) => points.map(([, value]) => value ?? 0));
    const top = niceTop(Math.max(1e-9, limit?.value ?? 0, ...(limit?.points ?? []).map(([, v]) => v ?? 0), ...values));
    const x = (at) => LEFT + ((at - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
    const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
    const path = (points) => points.map(([at, v], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(v ?? 0).toFixed(1)}`).join("");
    const scale = [0, top / 2, top];
    const limitPoints = limit && (limit.points?.length ? limit.points : [[from, limit.value], [to, limit.value]]);
    return [
      h(
        "div",
        { class: "legend" },
        series.map(({ name, tone }) => h("span", { class: `s-${tone}` }, name)),
        limit && h("span", { class: "limit" }, limit.name),
      ),
      h(
        "svg",
        {
          class: "plot",
          viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
          role: "img",
          "aria-label": `${label}. ${series.map((s) => `${s.name}: ${show(s.points.at(-1)?.[1] ?? 0)} now`).join(", ")}.`,
          onpointermove: (event) => this.#point(event, from, to),
          onpointerleave: () => this.#point(null),
        },
        scale.map((value) => [
          h("path", { class: "grid-line", d: `M${LEFT} ${y(value)}H${WIDTH - RIGHT}` }),
          h("text", { x: WIDTH - RIGHT + 6, y: y(value) + 4 }, show(value)),
        ]),
        [from, (from + to) / 2, to].map((at, index) =>
          h("text", { x: x(at), y: HEIGHT - 6, "text-anchor": ["start", "middle", "end"][index] }, clock(at).slice(0, 5)),
        ),
        series.map(({ name, tone, points, filled }) => [
          filled &&
            points.length > 0 &&
            h("path", {
              key: `area ${name}`,
              class: `area s-${tone}`,
              d: `${path(points)}L${x(points.at(-1)[0]).toFixed(1)} ${y(0)}L${x(points[0][0]).toFixed(1)} ${y(0)}Z`,
            }),
          h("path", { key: `line ${name}`, class: `line s-${tone}`, d: path(points) }),
        ]),
        limitPoints && h("path", { key: "limit", class: "limit-line", d: path(limitPoints) }),
        this.#pointer !== null && this.#values(series, show, x),
      ),
    ];
  }

  #point(event, from, to) {
    if (event === null) {
      this.#pointer = null;
    } else {
      const box = event.currentTarget.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
      this.#pointer = from + Math.min(1, Math.max(0, share)) * (to - from);
    }
    this.update();
  }

  #values(series, show, x) {
    const at = this.#pointer;
    const nearest = (points) => points.reduce((best, p) => (!best || Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best), null);
    const found = series.map(({ name, points }) => [name, nearest(points)]).filter(([, point]) => point);
    if (!found.length) return null;
    const position = x(found[0][1][0]);
    const anchor = position > WIDTH / 2 ? "end" : "start";
    const text = `${clock(found[0][1][0])} · ${found.map(([name, [, value]]) => `${name} ${show(value ?? 0)}`).join(" · ")}`;
    return [
      h("path", { key: "pointer", class: "pointer", d: `M${position} ${TOP}V${HEIGHT - BOTTOM}` }),
      h("text", { key: "values", class: "values", x: position + (anchor === "end" ? -6 : 6), y: TOP - 3, "text-anchor": anchor }, text),
    ];
  }
}
property(LinePlot, "plot");
customElements.define("line-plot", LinePlot);

function niceTop(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * size).find((step) => step >= value) ?? value;
}

export const linePlot = (plot) => h("line-plot", { props: { plot } });

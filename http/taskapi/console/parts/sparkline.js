// A small picture of a number over time. It has no scale: the number beside it says how much.
import { h } from "../core.js";

const WIDTH = 120;
const HEIGHT = 22;

/** `top`: what fills the height, such as a limit; the greatest value if that is more. */
export function sparkline(values, { label, tone = "running", top = 1 }) {
  const most = values.reduce((one, other) => Math.max(one, other), Math.max(1, top));
  const x = (index) => Math.round((index / Math.max(1, values.length - 1)) * WIDTH * 10) / 10;
  const y = (value) => Math.round((HEIGHT - 1 - (value / most) * (HEIGHT - 3)) * 10) / 10;
  const line = values.map((value, index) => `${index ? "L" : "M"}${x(index)} ${y(value)}`).join("");
  return h(
    "svg.sparkline",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    values.length > 0 && h("path", { class: `area s-${tone}`, d: `${line}V${HEIGHT}H0Z` }),
    values.length > 0 && h("path", { class: `line s-${tone}`, d: line, "vector-effect": "non-scaling-stroke" }),
  );
}

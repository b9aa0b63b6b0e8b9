// The steps of a workflow as a graph that shows the selected step, and can be scrolled, zoomed and walked through by keys.
import { define, h, join, View } from "../../core.js";
import { button } from "../../parts.js";
import { HEIGHT, WIDTH, layOut } from "./layout.js";
import { countTasks, describe } from "./steps.js";

const SMALLEST = 0.15;
const READABLE = 0.72; // a graph that would be smaller is not made to fit by itself
const LARGEST = 1.6;

/** `steps`: of the workflow; `selected`: a key; select(key) is called with another one. */
class WorkflowGraph extends View {
  #layout = null;
  #structure = "";
  #zoom = null; // null until the width is known
  #focused = null; // the step that Tab goes to, if it is not the selected one
  #shown = null; // the step that was scrolled to

  changed(name) {
    if (name === "selected") this.#focused = null;
  }

  content() {
    const structure = this.steps.map(({ key, after }) => `${key} ${after.join(" ")}`).join("\n");
    if (structure !== this.#structure) [this.#layout, this.#structure] = [layOut(this.steps), structure];
    const { width, height } = this.#layout;
    const zoom = this.#zoom ?? 1;
    const scale = (label, text, change) =>
      button(text, () => this.#scale(change()), { "aria-label": label });
    return [
      h(
        "div.graph",
        h(
          "svg",
          {
            width: Math.round(width * zoom),
            height: Math.round(height * zoom),
            viewBox: `0 0 ${width} ${height}`,
            role: "group",
            "aria-label": "Steps. The arrow keys go from one to the next.",
            onkeydown: (event) => this.#press(event),
          },
          this.#edges(),
          this.steps.map((step) => this.#node(step)),
        ),
      ),
      h(
        "div.graph-acts",
        scale("Smaller", "−", () => zoom / 1.25),
        scale("Fit", "Fit", () => this.#fitting()),
        scale("Larger", "+", () => zoom * 1.25),
      ),
    ];
  }

  shown() {
    if (this.#zoom === null) {
      const fitting = this.#fitting();
      this.#scale(fitting >= READABLE ? fitting : 1);
    } else if (this.#shown !== this.selected) {
      this.#shown = this.selected;
      const { x, y } = this.#layout.nodes.get(this.selected);
      const area = this.querySelector(".graph");
      area.scrollTo((x + WIDTH / 2) * this.#zoom - area.clientWidth / 2, (y + HEIGHT / 2) * this.#zoom - area.clientHeight / 2);
    }
  }

  #fitting() {
    const { width, height } = this.#layout;
    return Math.min(1, this.querySelector(".graph").clientWidth / width, Math.max(360, innerHeight * 0.6) / height);
  }

  #scale(zoom) {
    this.#zoom = Math.min(LARGEST, Math.max(SMALLEST, zoom));
    this.update();
  }

  /** All edges of a tone are one path, however many there are. */
  #edges() {
    const status = new Map(this.steps.map((step) => [step.key, step.status]));
    const paths = Object.fromEntries(["pending", "completed", "active", "selected"].map((tone) => [tone, ["", ""]]));
    for (const { from, to, points } of this.#layout.edges) {
      let tone = ["running", "waiting"].includes(status.get(to)) ? "active" : status.get(from) === "completed" ? "completed" : "pending";
      if (from === this.selected || to === this.selected) tone = "selected";
      const [x, y] = points.at(-1);
      paths[tone][0] += drawEdge(points);
      paths[tone][1] += `M${x} ${y}l-7 -4v8z`;
    }
    return Object.entries(paths).map(([tone, [line, tips]]) =>
      h("g", { key: `edges ${tone}`, class: `edges ${tone}` }, h("path", { d: line }), h("path.tip", { d: tips })),
    );
  }

  #node(step) {
    const { key, kind, status, after } = step;
    const { x, y } = this.#layout.nodes.get(key);
    const { all, ended } = countTasks(step);
    const isSelected = key === this.selected;
    const about = describe(step);
    const bar = (name, share) => h("rect", { key: name, class: name, x: 12, y: HEIGHT - 7, width: (WIDTH - 24) * share, height: 3, rx: 1.5 });
    return h(
      "g",
      {
        key: `node ${key}`,
        class: ["node", `s-${status}`, isSelected && "selected"],
        transform: `translate(${x} ${y})`,
        role: "button",
        tabindex: key === (this.#focused ?? this.selected) ? 0 : -1,
        "aria-pressed": String(isSelected),
        "aria-label": join([`${key}: ${status}`, about, after.length && `after ${join(after)}`]),
        data: { step: key },
        onclick: () => this.select(key),
      },
      h("title", `${key}\n${about}`),
      h("rect.box", { width: WIDTH, height: HEIGHT, rx: kind === "approval" ? HEIGHT / 2 : 9 }),
      h("circle.dot", { cx: 17, cy: 19, r: 4 }),
      h("svg", { width: WIDTH - 10, height: HEIGHT }, h("text.name", { x: 28, y: 23 }, cut(key, 20)), h("text.about", { x: 28, y: 40 }, cut(about, 26))),
      ended < all && all > 1 && [bar("rest", 1), bar("done", ended / all)],
    );
  }

  #press(event) {
    const key = event.target.closest("[data-step]")?.dataset.step;
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    const isChoice = event.key === "Enter" || event.key === " ";
    const next = isChoice ? key : this.#neighbor(key, event.key);
    if (!next) return;
    event.preventDefault();
    if (isChoice) this.select(key);
    else this.querySelector(`[data-step="${CSS.escape(next)}"]`).focus();
    this.#focused = next;
    this.update();
  }

  /** Left and right: the nearest step along an edge; up and down: in the same layer. */
  #neighbor(key, pressed) {
    const { nodes, layers, edges } = this.#layout;
    const { layer, place, y } = nodes.get(key);
    const away = (each) => Math.abs(nodes.get(each).y - y);
    const along = (here, there) =>
      edges.filter((edge) => edge[here] === key).map((edge) => edge[there]).sort((one, other) => away(one) - away(other))[0];
    const found = {
      ArrowRight: () => along("from", "to"),
      ArrowLeft: () => along("to", "from"),
      ArrowUp: () => layers[layer][place - 1],
      ArrowDown: () => layers[layer][place + 1],
      Home: () => layers[0][0],
      End: () => layers.at(-1)[0],
    };
    return found[pressed]?.();
  }
}
define("workflow-graph", WorkflowGraph, "steps", "selected", "select");

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function drawEdge(points) {
  let path = `M${points[0][0] + WIDTH} ${points[0][1]}`;
  for (const [index, [x, y]] of points.slice(1).entries()) {
    const [before, level] = points[index];
    const middle = (before + WIDTH + x) / 2;
    path += `C${middle} ${level} ${middle} ${y} ${x} ${y}` + (index < points.length - 2 ? `H${x + WIDTH}` : "");
  }
  return path;
}

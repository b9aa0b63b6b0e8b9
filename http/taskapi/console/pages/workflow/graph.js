// The steps of a workflow as a graph that shows the selected step, and can be zoomed, dragged and walked through by keys.
import { h } from "../../core/dom.js";
import { View, property } from "../../core/view.js";
import { HEIGHT, WIDTH, layOut } from "./layout.js";
import { countTasks, describe } from "./steps.js";

const SMALLEST = 0.15;
const LARGEST = 1.6;
const READABLE = 0.72; // a graph that would be smaller is not made to fit by itself
const ROOM = WIDTH - 30;
const ACTIVE = ["running", "waiting"];

/** `steps`: of the workflow; `selected`: a key; `select(key)` is called with another one. */
class WorkflowGraph extends View {
  #layout = null;
  #structure = "";
  #zoom = null; // null until the width is known
  #focused = null; // the step that Tab goes to
  #wasMoved = false; // by the user: the graph does not jump then

  start() {
    this.hear(window, "resize", () => this.update());
  }

  changed(name) {
    if (name !== "selected") return;
    this.#focused = null;
    this.#wasMoved = false;
  }

  content() {
    const structure = this.steps.map(({ key, after }) => `${key} ${after.join(" ")}`).join("\n");
    if (structure !== this.#structure) [this.#layout, this.#structure] = [layOut(this.steps), structure];
    const { width, height } = this.#layout;
    const zoom = this.#zoom ?? 1;
    return [
      h(
        "div",
        { class: "graph", onpointerdown: (event) => this.#grab(event), onwheel: (event) => this.#turn(event) },
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
        "div",
        { class: "graph-acts" },
        h("button", { type: "button", "aria-label": "Smaller", onclick: () => this.#scale(zoom / 1.25) }, "−"),
        h("button", { type: "button", onclick: () => this.#scale(this.#fitting()) }, "Fit"),
        h("button", { type: "button", "aria-label": "Larger", onclick: () => this.#scale(zoom * 1.25) }, "+"),
      ),
    ];
  }

  shown() {
    if (this.#zoom === null && this.#area.clientWidth) {
      const fitting = this.#fitting();
      this.#zoom = fitting >= READABLE ? fitting : 1;
      this.update();
    } else if (this.#zoom !== null && !this.#wasMoved) {
      this.#reveal(this.selected);
    }
  }

  get #area() {
    return this.querySelector(".graph");
  }

  #fitting() {
    const { width, height } = this.#layout;
    return Math.min(1, this.#area.clientWidth / width, Math.max(360, innerHeight * 0.6) / height);
  }

  #scale(zoom) {
    this.#zoom = Math.min(LARGEST, Math.max(SMALLEST, zoom));
    this.update();
  }

  /** Scrolls to a step, in the middle if it was not to be seen. */
  #reveal(key) {
    const node = this.#layout.nodes.get(key);
    const area = this.#area;
    if (!node) return;
    const center = (start, size, from, room) => {
      const [begin, end] = [start * this.#zoom, (start + size) * this.#zoom];
      return begin >= from && end <= from + room ? from : (begin + end - room) / 2;
    };
    const left = center(node.x, WIDTH, area.scrollLeft, area.clientWidth);
    const top = center(node.y, HEIGHT, area.scrollTop, area.clientHeight);
    if (left !== area.scrollLeft || top !== area.scrollTop) area.scrollTo({ left, top });
  }

  /** All edges of a tone are one path, however many there are; those of the selected step are above them. */
  #edges() {
    const status = new Map(this.steps.map((step) => [step.key, step.status]));
    const paths = { pending: ["", ""], completed: ["", ""], active: ["", ""], selected: ["", ""] };
    for (const edge of this.#layout.edges) {
      const isActive = ACTIVE.includes(status.get(edge.to));
      const tone = isActive ? "active" : status.get(edge.from) === "completed" ? "completed" : "pending";
      const own = edge.from === this.selected || edge.to === this.selected ? "selected" : tone;
      paths[own][0] += drawEdge(edge.points);
      paths[own][1] += drawHead(edge.points.at(-1));
    }
    return Object.entries(paths).map(([tone, [line, head]]) =>
      h("g", { key: `edges ${tone}`, class: ["edges", tone] }, h("path", { d: line }), h("path", { class: "tip", d: head })),
    );
  }

  #node(step) {
    const { x, y } = this.#layout.nodes.get(step.key);
    const tasks = countTasks(step);
    const isSelected = step.key === this.selected;
    const about = describe(step);
    return h(
      "g",
      {
        key: `node ${step.key}`,
        class: ["node", `s-${step.status}`, isSelected && "selected"],
        transform: `translate(${x} ${y})`,
        role: "button",
        tabindex: step.key === (this.#focused ?? this.selected) ? 0 : -1,
        "aria-pressed": String(isSelected),
        "aria-label": `${step.key}: ${step.status}, ${about}${step.after.length ? `, after ${step.after.join(", ")}` : ""}`,
        data: { step: step.key },
        onclick: () => this.select(step.key),
      },
      h("title", null, `${step.key}\n${about}`),
      h("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: step.kind === "approval" ? HEIGHT / 2 : 9 }),
      h("circle", { class: "dot", cx: 17, cy: 19, r: 4 }),
      h("text", { class: "name", x: 28, y: 23 }, fit(step.key, "600 13px", ROOM - 8)),
      h("text", { class: "about", x: 28, y: 40 }, fit(about, "11.5px", ROOM - 8)),
      tasks.all > 1 &&
        tasks.open > 0 && [
          h("rect", { key: "all", class: "rest", x: 12, y: HEIGHT - 7, width: WIDTH - 24, height: 3, rx: 1.5 }),
          h("rect", { key: "ended", class: "done", x: 12, y: HEIGHT - 7, width: ((WIDTH - 24) * tasks.ended) / tasks.all, height: 3, rx: 1.5 }),
        ],
    );
  }

  #press(event) {
    const key = event.target.closest?.("[data-step]")?.dataset.step;
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(key);
      return;
    }
    const next = this.#neighbor(key, event.key);
    if (!next) return;
    event.preventDefault();
    this.#focused = next;
    this.#wasMoved = true;
    this.querySelector(`[data-step="${CSS.escape(next)}"]`).focus();
    this.update();
  }

  /** Left and right: the nearest step along an edge; up and down: in the same layer. */
  #neighbor(key, pressed) {
    const { nodes, layers, edges } = this.#layout;
    const { layer, place, y } = nodes.get(key);
    const nearest = (keys) => keys.sort((a, b) => Math.abs(nodes.get(a).y - y) - Math.abs(nodes.get(b).y - y))[0];
    switch (pressed) {
      case "ArrowRight": return nearest(edges.filter(({ from }) => from === key).map(({ to }) => to));
      case "ArrowLeft": return nearest(edges.filter(({ to }) => to === key).map(({ from }) => from));
      case "ArrowUp": return layers[layer][place - 1];
      case "ArrowDown": return layers[layer][place + 1];
      case "Home": return layers[0][0];
      case "End": return layers.at(-1)[0];
      default: return undefined;
    }
  }

  #grab(event) {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest("[data-step]")) return;
    const area = this.#area;
    const from = { x: event.clientX + area.scrollLeft, y: event.clientY + area.scrollTop };
    area.setPointerCapture(event.pointerId);
    area.onpointermove = ({ clientX, clientY }) => {
      this.#wasMoved = true;
      area.scrollTo(from.x - clientX, from.y - clientY);
    };
    area.onpointerup = area.onpointercancel = () => (area.onpointermove = null);
    event.preventDefault();
  }

  #turn(event) {
    this.#wasMoved = true;
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.#scale(this.#zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }
}
for (const name of ["steps", "selected", "select"]) property(WorkflowGraph, name);
customElements.define("workflow-graph", WorkflowGraph);

function drawEdge(points) {
  let path = `M${points[0][0] + WIDTH} ${points[0][1]}`;
  for (const [index, [x, y]] of points.slice(1).entries()) {
    const [before, level] = points[index];
    const middle = (before + WIDTH + x) / 2;
    path += `C${middle} ${level} ${middle} ${y} ${x} ${y}`;
    if (index < points.length - 2) path += `H${x + WIDTH}`;
  }
  return path;
}

const drawHead = ([x, y]) => `M${x} ${y}l-7 -4v8z`;

const measures = document.createElement("canvas").getContext("2d");
const fitted = new Map();

/** Cuts a text so that it is not wider than so many pixels. */
function fit(text, font, room) {
  const known = `${font} ${room} ${text}`;
  if (fitted.size > 5000) fitted.clear();
  if (!fitted.has(known)) {
    measures.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
    const isWide = (length) => measures.measureText(text.slice(0, length)).width > room;
    let length = Math.min(text.length, 100);
    while (length > 1 && isWide(length)) length -= 1;
    fitted.set(known, length < text.length ? `${text.slice(0, Math.max(1, length - 1))}…` : text);
  }
  return fitted.get(known);
}

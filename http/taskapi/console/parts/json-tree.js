// JSON as a tree that opens and closes. Integers are exact, long texts are cut until somebody wants them whole.
import { define, h, plural, View, writeJson } from "../core.js";
import { button, copyButton } from "./basics.js";

const LONG = 400; // characters
const MANY = 100; // members
const DEEP = 2; // levels that are open at first
const TURNS = /[\u2028-\u202e\u2066-\u2069]/g; // would change the order of what is around them
const escape = (character) => `\\u${character.charCodeAt(0).toString(16)}`;

class JsonTree extends View {
  #open = new Map(); // by path
  #whole = new Set(); // paths of texts and lists that are shown whole

  changed() {
    this.#whole.clear();
  }

  content() {
    const text = () => writeJson(this.value, 2) ?? "null";
    return [
      h("div.json-acts", copyButton("Copy", text)),
      h("div.json", { tabindex: 0, role: "group", "aria-label": "JSON" }, this.#show(this.value, "", null, 0)),
    ];
  }

  #show(value, path, name, depth) {
    const label = name !== null && [h("span.json-name", name), ": "];
    if (value === null || typeof value !== "object") {
      return h("div.json-line", { key: path }, label, this.#scalar(value, path));
    }
    const entries = Array.isArray(value) ? value.map((each, index) => [index, each]) : Object.entries(value);
    const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    if (!entries.length) return h("div.json-line", { key: path }, label, begin + end);
    const isOpen = this.#open.get(path) ?? depth < DEEP;
    const toggle = (event) => {
      this.#open.set(path, event.target.open);
      if (event.target.open !== isOpen) this.update();
    };
    const most = this.#whole.has(path) ? entries.length : MANY;
    return h(
      "details",
      { key: path, open: isOpen, ontoggle: toggle },
      h("summary", label, isOpen ? begin : `${begin} ${plural(entries.length, "member")} ${end}`),
      isOpen && entries.slice(0, most).map(([key, each]) => this.#show(each, `${path}/${key}`, String(key), depth + 1)),
      isOpen && entries.length > most && this.#more(path, `… ${plural(entries.length - most, "more member")}`),
      isOpen && h("div.json-line", end),
    );
  }

  #scalar(value, path) {
    if (typeof value !== "string") return h("span", { class: `json-${value === null ? "null" : typeof value}` }, String(value));
    const cut = value.length > LONG && !this.#whole.has(path);
    return [
      h("span.json-string", JSON.stringify(cut ? value.slice(0, LONG) : value).replace(TURNS, escape)),
      cut && this.#more(path, `… ${plural(value.length - LONG, "more character")}`),
    ];
  }

  #more(path, text) {
    const show = () => {
      this.#whole.add(path);
      this.update();
    };
    return button(text, show, { class: "plain" });
  }
}
define("json-tree", JsonTree, "value");

export const jsonTree = (value) => h("json-tree", { props: { value } });

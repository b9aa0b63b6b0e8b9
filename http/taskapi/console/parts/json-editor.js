// A text area for JSON with line numbers. What is wrong is shown at its line: a mistake in the JSON, or a field that the
// server has refused. Nothing but the user changes the text once something was typed.
import { define, h, parseJson, View } from "../core.js";

const LINE = 18; // pixels, as in parts.css

/** `text` is what it begins with, `label` its name for screen readers. Get the element itself with `created`. */
class JsonEditor extends View {
  #typed = null;
  #error = null; // {line, message}

  get value() {
    return this.#typed ?? this.text ?? "";
  }

  /** Returns the value; undefined if the text is no JSON, which is shown then. */
  read() {
    try {
      const value = parseJson(this.value);
      this.#show(null);
      return value;
    } catch (error) {
      const [line, message] = describeSyntaxError(error, this.value);
      this.#show({ line, message: `Line ${line + 1}: ${message}` });
      return undefined;
    }
  }

  /** Shows what the server has said about a field such as "params.width", at the place of the field. */
  refuse(field, message) {
    const [start, end] = locate(this.value, field ? field.split(".") : []);
    this.#show({ line: lineOf(this.value, start), message: field ? `${field}: ${message}` : message });
    this.#area?.setSelectionRange(start, end);
  }

  get #area() {
    return this.querySelector("textarea");
  }

  #show(error) {
    this.#error = error;
    this.update();
    if (!error || !this.#area) return;
    this.#area.focus();
    this.#area.scrollTop = Math.max(0, error.line - 4) * LINE;
  }

  content() {
    const lines = this.value.split("\n").length;
    const error = this.#error;
    const top = error && 8 + error.line * LINE - (this.#area?.scrollTop ?? 0);
    return h(
      "div.json-editor",
      h("pre", { "aria-hidden": "true" }, Array.from({ length: lines }, (_, index) => index + 1).join("\n")),
      h("textarea", {
        value: this.value,
        "aria-label": this.label,
        "aria-invalid": error && "true",
        "aria-describedby": error && "json-editor-error",
        spellcheck: "false",
        wrap: "off",
        autocomplete: "off",
        oninput: (event) => this.#type(event.target.value),
        onscroll: () => this.update(),
      }),
      error && h("i", { key: "mark", style: { top: `${top}px` } }),
      error && h("p.field-error", { key: "error", id: "json-editor-error", role: "alert", style: { top: `${top + LINE}px` } }, error.message),
    );
  }

  shown() {
    this.querySelector("pre").scrollTop = this.#area.scrollTop;
  }

  #type(text) {
    this.#typed = text;
    this.#error = null;
    this.update();
    this.dispatchEvent(new Event("change"));
  }
}
define("json-editor", JsonEditor, "text", "label");

const lineOf = (text, position) => text.slice(0, position).split("\n").length - 1;

function describeSyntaxError(error, text) {
  const message = error.message.replace(/ (in JSON )?at (position|line) .*$/, "").replace(/^JSON.parse: /, "");
  const position = /position (\d+)/.exec(error.message)?.[1];
  const line = /line (\d+)/.exec(error.message)?.[1];
  return [line ? line - 1 : lineOf(text, position ?? text.length), `${message}.`];
}

/** Returns where the value at a path begins and ends in a JSON text: that of its nearest parent if there is none. */
export function locate(text, path) {
  const token = /\s*("(?:[^"\\]|\\.)*"|[^\s,:[\]{}"]+|[,:[\]{}])/y;
  const next = () => token.exec(text)?.[1];
  let found = [0, text.length];
  let deepest = -1;
  function walk(depth, fits) {
    const begin = next();
    const start = token.lastIndex - (begin?.length ?? 0);
    if (begin === "{" || begin === "[") {
      for (let index = 0; ; index += 1) {
        const before = token.lastIndex;
        const first = next();
        if (first === undefined || first === "}" || first === "]") break;
        if (begin === "[") token.lastIndex = before;
        else next(); // the colon
        walk(depth + 1, fits && path[depth] === (begin === "[" ? String(index) : JSON.parse(first)));
        if (next() !== ",") break;
      }
    }
    if (fits && depth > deepest) [found, deepest] = [[start, token.lastIndex], depth];
  }
  try {
    walk(0, true);
  } catch {
    return [0, text.length]; // no JSON
  }
  return found;
}

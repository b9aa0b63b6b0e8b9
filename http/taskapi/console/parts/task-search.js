// The filter bar: "status:dead actor:summarize words" opens the list, an id opens the task. A combobox: it suggests what the
// word at the caret may become. What is wrong is marked at its word.
import { currentAddress, define, goTo, h, View } from "../core.js";
import { button } from "./basics.js";
import { parseFilter, readDeclared, suggest } from "./task-filter.js";

const readQuery = () => {
  const { path, query } = currentAddress();
  return path === "/tasks" ? (query.get("q") ?? "") : "";
};

class TaskSearch extends View {
  #text = readQuery();
  #open = false;
  #active = -1;
  #strict = true; // errors are shown; not while somebody types

  start() {
    this.hear(window, "hashchange", () => this.#set(readQuery()));
  }

  get #input() {
    return this.querySelector("input");
  }

  content() {
    const { tokens, errors } = parseFilter(this.#text);
    const shown = this.#strict ? errors : [];
    const { options } = this.#suggested();
    const isOpen = this.#open && options.length > 0;
    return h(
      "form.search",
      { role: "search", onsubmit: (event) => this.#submit(event) },
      h(
        "div.search-field",
        h("div.search-marks", { "aria-hidden": "true" }, h("span", this.#mark(tokens, shown))),
        h("input", {
          name: "q",
          value: this.#text,
          role: "combobox",
          "aria-label": "Filter tasks",
          "aria-expanded": String(isOpen),
          "aria-controls": "search-options",
          "aria-autocomplete": "list",
          "aria-activedescendant": isOpen && this.#active >= 0 && `search-option-${this.#active}`,
          "aria-invalid": shown.length > 0 && "true",
          "aria-describedby": shown.length > 0 && "search-errors",
          placeholder: "Filter tasks: status:dead actor:summarize, or paste an id",
          autocomplete: "off",
          spellcheck: "false",
          oninput: (event) => this.#type(event.target.value),
          onblur: () => this.#leave(),
          onfocus: () => readDeclared().then(() => this.update()),
          onclick: () => this.#show(),
          onkeydown: (event) => this.#press(event),
          onkeyup: () => this.update(),
          onscroll: () => this.update(),
        }),
      ),
      this.#text
        ? button("Clear", () => this.#clear(), { class: "plain" })
        : h("kbd", { key: "key" }, "/"),
      h(
        "ul",
        { id: "search-options", role: "listbox", "aria-label": "Suggestions", hidden: !isOpen },
        options.map(({ word, note }, index) =>
          h(
            "li",
            {
              key: word,
              id: `search-option-${index}`,
              role: "option",
              "aria-selected": String(index === this.#active),
              onmousedown: (event) => this.#accept(index, event),
            },
            h("span.mono", word),
            note && h("small", note),
          ),
        ),
      ),
      shown.length > 0 &&
        h("p.field-error", { key: "errors", id: "search-errors", role: "alert" }, shown.map(({ start, end, error }) =>
          h("span", { key: start }, h("code", this.#text.slice(start, end)), " ", error),
        )),
    );
  }

  /** The text again, behind the input: qualifiers with a background, wrong words underlined. */
  #mark(tokens, errors) {
    const parts = [];
    let at = 0;
    for (const token of tokens) {
      parts.push(this.#text.slice(at, token.start));
      const kind = errors.includes(token) ? "wrong" : token.name && !token.error && "good";
      parts.push(h("i", { key: token.start, class: kind }, this.#text.slice(token.start, token.end)));
      at = token.end;
    }
    return parts;
  }

  shown() {
    this.querySelector(".search-marks").scrollLeft = this.#input.scrollLeft;
  }

  #suggested() {
    return suggest(this.#text, this.#input?.selectionStart ?? this.#text.length);
  }

  #set(text) {
    this.#text = text;
    this.#strict = true;
    this.#open = false;
    this.update();
  }

  #type(text) {
    this.#text = text;
    this.#strict = false;
    this.#show();
  }

  #show() {
    this.#open = true;
    this.#active = -1;
    this.update();
  }

  #leave() {
    this.#open = false;
    this.#strict = true;
    this.update();
  }

  #press(event) {
    const { options } = this.#suggested();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (!this.#open) this.#show();
      const places = options.length + 1; // and none of them
      this.#active = ((this.#active + 1 + step + places) % places) - 1;
    } else if (event.key === "Enter" && this.#open && this.#active >= 0) {
      this.#accept(this.#active, event);
    } else if (event.key === "Escape") {
      if (this.#open && options.length) event.preventDefault();
      else this.#input.blur();
      this.#open = false;
    }
    this.update();
  }

  #accept(index, event) {
    event.preventDefault(); // the input keeps the focus
    const { options, start, end } = this.#suggested();
    const { word } = options[index];
    const isWhole = !word.endsWith(":");
    const before = `${this.#text.slice(0, start)}${word}${isWhole ? " " : ""}`;
    this.#type(before + this.#text.slice(end).replace(/^\s+/, ""));
    this.#open = !isWhole;
    this.#input.value = this.#text;
    this.#input.setSelectionRange(before.length, before.length);
  }

  #clear() {
    this.#set("");
    this.#input.focus();
    if (readQuery()) goTo("/tasks");
  }

  #submit(event) {
    event.preventDefault();
    this.#open = false;
    this.#strict = true;
    const text = this.#text.trim();
    if (/^tq_[0-9a-f]{32}$/.test(text)) {
      this.#text = "";
      goTo(`/tasks/${text}`);
    } else if (!parseFilter(text).errors.length) {
      goTo("/tasks", { q: text });
    }
    this.update();
  }
}
define("task-search", TaskSearch);

// The frame of all pages: navigation, search, what is wrong at the moment, and the page of the address.
import { caller } from "./core/caller.js";
import { connection } from "./core/connection.js";
import { h } from "./core/dom.js";
import { duration, number } from "./core/format.js";
import { key } from "./core/key.js";
import { currentAddress, linkTo, match } from "./core/router.js";
import { applyTheme, currentTheme, switchTheme } from "./core/theme.js";
import { View } from "./core/view.js";
import { PAGES } from "./pages.js";
import { loading, problem } from "./parts/basics.js";
import { counts } from "./parts/counts.js";
import "./parts/key-prompt.js";
import { showKeyboardHelp } from "./parts/keyboard.js";
import "./parts/task-search.js";

const UPDATED = { title: "Another release of Callboard runs now.", message: "Load this page again to get its console." };

class CallboardApp extends View {
  #page = null; // {entry, parameters}
  #error = null;
  #menu = false;

  start() {
    this.hear(window, "hashchange", () => this.#open());
    this.hear(window, "keydown", (event) => this.#press(event));
    for (const each of [caller, connection, counts, key]) this.hear(each, "change", () => this.update());
    this.hear(key, "change", () => this.#enter());
    this.own(counts.watch());
    setInterval(() => connection.lostSince && this.update(), 1000);
    this.#enter();
  }

  /** Opens the page, and asks who we are meanwhile, until the server answers. */
  async #enter() {
    if (key.refused) return;
    this.#open();
    try {
      await caller.read();
    } catch (error) {
      if (error.status !== 401) setTimeout(() => this.#enter(), 2000);
    }
  }

  async #open() {
    const { path } = currentAddress();
    this.#menu = false;
    const found = PAGES.map((entry) => ({ entry, parameters: match(entry.path, path) })).find((each) => each.parameters);
    this.#error = null;
    if (!found) {
      this.#page = null;
      this.#error = { title: "There is no such page.", message: "The navigation shows all that there are." };
    } else {
      try {
        await import(`./pages/${found.entry.file}.js`);
        this.#page = found;
        document.title = `${found.entry.title} · Callboard`;
      } catch (error) {
        console.error(error);
        this.#error = connection.lostSince ? { title: "The server cannot be reached.", message: "" } : UPDATED;
      }
    }
    this.update();
  }

  #press(event) {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      event.preventDefault();
      this.querySelector("task-search input")?.focus();
    } else if (event.key === "?") {
      showKeyboardHelp();
    }
  }

  content() {
    if (key.refused) return h("key-prompt");
    return [
      h("a", { class: "skip", href: "#main", onclick: skipToMain }, "Skip to the content"),
      h("div", { class: "shell" }, this.#navigation(), h("main", { id: "main", tabindex: -1 }, this.#top(), this.#shown())),
    ];
  }

  #navigation() {
    const { path } = currentAddress();
    const groups = new Map();
    for (const entry of PAGES) {
      if (entry.group === undefined || (caller.role && entry.needs && !caller.may(entry.needs))) continue;
      groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
    }
    const isCurrent = (entry) => entry.path === (this.#page?.entry.within ?? this.#page?.entry.path ?? path);
    return h(
      "nav",
      { "aria-label": "Pages", class: this.#menu && "open" },
      h(
        "div",
        { class: "brand" },
        h("a", { href: linkTo("/") }, mark(), "Callboard"),
        h(
          "button",
          { type: "button", class: "menu", "aria-expanded": String(this.#menu), onclick: () => this.#toggleMenu() },
          "Menu",
        ),
      ),
      h(
        "div",
        { class: "entries" },
        [...groups].map(([group, entries]) => [
          group && h("div", { class: "group", key: group }, group),
          entries.map((entry) => {
            const count = counts.of(entry.path);
            return h(
              "a",
              { key: entry.path, href: linkTo(entry.path), "aria-current": isCurrent(entry) && "page" },
              entry.title,
              count && h("span", { class: ["count", count.bad && "bad"] }, number(count.value)),
            );
          }),
        ]),
        h("div", { class: "who" }, whoAmI()),
      ),
    );
  }

  #toggleMenu() {
    this.#menu = !this.#menu;
    this.update();
  }

  #top() {
    const lost = connection.lostSince;
    return [
      h(
        "header",
        { class: "top" },
        h("task-search"),
        h("div", { class: ["live", lost && "lost"], role: "status" }, h("i"), lost ? "No connection" : "Live"),
        h("button", { type: "button", onclick: () => this.#switchTheme() }, currentTheme() === "dark" ? "Light" : "Dark"),
      ),
      lost &&
        h(
          "div",
          { key: "lost", class: "notice", role: "alert" },
          h("b", null, "The server cannot be reached"),
          h("span", null, `for ${duration((Date.now() - lost) / 1000)}. Tasks go on; this page goes on when it is back.`),
        ),
    ];
  }

  #switchTheme() {
    switchTheme();
    this.update();
  }

  #shown() {
    if (this.#error) return problem(this.#error);
    if (!this.#page || !(caller.role || this.#page.entry.early)) return loading();
    const { entry, parameters } = this.#page;
    return h(entry.tag, { key: entry.tag + JSON.stringify(parameters), props: { parameters } });
  }
}
customElements.define("callboard-app", CallboardApp);

function skipToMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function whoAmI() {
  if (!caller.role) return null;
  const forget = () => {
    key.forget();
    key.refuse();
  };
  const text = [caller.name ?? "no key needed", caller.role, caller.tenant && `tenant ${caller.tenant}`].filter(Boolean).join(" · ");
  return [text, key.text && h("button", { type: "button", class: "plain", onclick: forget }, "Use another key")];
}

const mark = () =>
  h(
    "svg",
    { width: 18, height: 18, viewBox: "0 0 18 18", fill: "none", stroke: "currentColor", "stroke-width": 1.7, "aria-hidden": "true" },
    h("rect", { x: 2, y: 3, width: 14, height: 12, rx: 2 }),
    h("path", { d: "M5 7h5M5 10h8M5 13h3" }),
  );

applyTheme();

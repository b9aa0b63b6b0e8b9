// The frame of all pages: navigation, search, what is wrong at the moment, and the page of the address.
import {
  applyTheme, caller, connection, currentAddress, currentTheme, define, duration, h, join, key, linkTo, match,
  number, switchTheme, View,
} from "./core.js";
import { PAGES } from "./pages.js";
import { button, counts, loading, notice, problem, showKeyboardHelp } from "./parts.js";
import "./parts/key-prompt.js";
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
      // The other pages as well: they open while the server restarts, and when another release has come.
      for (const { file } of PAGES) import(`./pages/${file}.js`).catch(() => {});
    } catch (error) {
      if (error.status !== 401) setTimeout(() => this.#enter(), 2000);
    }
  }

  async #open() {
    const { path } = currentAddress();
    this.#menu = false;
    const found = PAGES.map((entry) => ({ entry, parameters: match(entry.path, path) })).find((each) => each.parameters);
    let error = null;
    if (!found) {
      error = { title: "There is no such page.", message: "The navigation shows all that there are." };
    } else {
      try {
        await import(`./pages/${found.entry.file}.js`);
      } catch (refused) {
        console.error(refused);
        error = connection.lostSince ? { title: "The server cannot be reached.", message: "" } : UPDATED;
      }
      if (currentAddress().path !== path) return; // somebody has gone on meanwhile
      document.title = `${found.entry.title} · Callboard`;
    }
    [this.#page, this.#error] = [found, error];
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
      h("a.skip", { href: "#main", onclick: skipToMain }, "Skip to the content"),
      h("div.shell", this.#navigation(), h("main", { id: "main", tabindex: -1 }, this.#top(), this.#shown())),
    ];
  }

  #navigation() {
    const { path } = currentAddress();
    const offered = PAGES.filter(({ group, needs }) => group !== undefined && !(caller.role && needs && !caller.may(needs)));
    const current = this.#page?.entry.within ?? this.#page?.entry.path ?? path;
    const show = ({ path: at, title }) => {
      const count = counts.of(at);
      const shown = count && h("span.count", { class: count.bad && "bad" }, number(count.value));
      return h("a", { key: at, href: linkTo(at), "aria-current": at === current && "page" }, title, shown);
    };
    return h(
      "nav",
      { "aria-label": "Pages", class: this.#menu && "open" },
      h(
        "div.brand",
        h("a", { href: linkTo("/") }, mark(), "Callboard"),
        button("Menu", () => this.#toggleMenu(), { class: "menu", "aria-expanded": String(this.#menu) }),
      ),
      h(
        "div.entries",
        [...Map.groupBy(offered, ({ group }) => group)].map(([group, entries]) => [
          group && h("div.group", { key: group }, group),
          entries.map(show),
        ]),
        h("div.who", whoAmI()),
      ),
    );
  }

  #toggleMenu() {
    this.#menu = !this.#menu;
    this.update();
  }

  #top() {
    const lost = connection.lostSince;
    const text = () => `for ${duration((Date.now() - lost) / 1000)}. Tasks go on; this page goes on when it is back.`;
    const change = () => {
      switchTheme();
      this.update();
    };
    return [
      h(
        "header.top",
        h("task-search"),
        h("div.live", { class: lost && "lost", role: "status" }, h("i"), lost ? "No connection" : "Live"),
        button(currentTheme() === "dark" ? "Light" : "Dark", change, { key: "theme" }),
      ),
      lost && notice("The server cannot be reached", text(), { key: "lost", role: "alert" }),
    ];
  }

  #shown() {
    if (this.#error) return problem(this.#error);
    if (!this.#page || !(caller.role || this.#page.entry.early)) return loading();
    const { entry, parameters } = this.#page;
    return h(entry.tag, { key: entry.tag + JSON.stringify(parameters), props: { parameters } });
  }
}
define("callboard-app", CallboardApp);

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
  const text = join([caller.name ?? "no key needed", caller.role, caller.tenant && `tenant ${caller.tenant}`], " · ");
  return [text, key.text && button("Use another key", forget, { class: "plain" })];
}

const mark = () =>
  h(
    "svg",
    { width: 18, height: 18, viewBox: "0 0 18 18", fill: "none", stroke: "currentColor", "stroke-width": 1.7, "aria-hidden": "true" },
    h("path", { d: "M4 3h10a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM5 7h5M5 10h8M5 13h3" }),
  );

applyTheme();

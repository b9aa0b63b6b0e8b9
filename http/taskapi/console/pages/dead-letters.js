// Dead letters, in groups with the same error. A group opens to its tasks, and can be redriven or dismissed.
import { caller, currentAddress, define, h, number, plural, readAll, replaceQuery, View } from "../core.js";
import { button, card, empty, loading, pageHead, problem } from "../parts.js";
import "./dead-letters/error-group.js";

const SECONDS = 5;
const STEP = 50;
const MOST_SEARCHED = 500; // groups in which a text is looked for
const readAddress = () => Object.fromEntries(currentAddress().query);

class DeadLettersPage extends View {
  #asked = readAddress(); // actor, error_type, tenant, text; group: the one that is open
  #found = null; // groups
  #foundFor = null; // what was asked then
  #most = STEP;
  #seen = { actor: new Set(), error_type: new Set() };

  start() {
    this.again = this.poll((signal) => this.#read(signal), SECONDS);
    this.hear(window, "hashchange", () => currentAddress().path === "/dead-letters" && this.#ask(readAddress()));
    this.hear(window, "keydown", (event) => this.#press(event));
  }

  get #filter() {
    const { actor, error_type, tenant } = this.#asked;
    return Object.fromEntries(Object.entries({ actor, error_type, tenant }).filter(([, value]) => value));
  }

  async #read(signal) {
    const asked = JSON.stringify(this.#filter);
    const most = this.#asked.text ? MOST_SEARCHED : this.#most;
    const found = await readAll("/queues/dlq/groups", { ...this.#filter, limit: STEP }, { most: most + 1, signal });
    if (asked !== JSON.stringify(this.#filter)) return this.again();
    for (const { actors, error_type: type } of found) {
      for (const { actor } of actors) this.#seen.actor.add(actor);
      if (type) this.#seen.error_type.add(type);
    }
    [this.#found, this.#foundFor] = [found, asked];
  }

  #ask(asked) {
    this.#asked = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
    replaceQuery(this.#asked);
    if (JSON.stringify(this.#filter) !== this.#foundFor) [this.#found, this.#most] = [null, STEP];
    this.again();
    this.update();
  }

  #change(changes) {
    this.#ask({ ...this.#asked, ...changes });
  }

  content() {
    const groups = this.#found?.filter((group) => hasWords(group, this.#asked.text)).sort((a, b) => (a.last_seen < b.last_seen ? 1 : -1));
    return [
      pageHead("Dead letters", groups?.length > 0 && h("span.dim", summarize(groups))),
      this.#filters(),
      this.error && problem(this.error),
      groups ? card({ class: "groups" }, groups.length ? this.#list(groups) : this.#none()) : !this.error && loading(),
    ];
  }

  #filters() {
    const { text = "", tenant = "" } = this.#asked;
    return h(
      "form.pills",
      { role: "search", "aria-label": "Filter dead letters", onsubmit: (event) => event.preventDefault() },
      h("input", { type: "search", "aria-label": "Words of the error", placeholder: "Words of the error", value: text, spellcheck: "false", oninput: (event) => this.#change({ text: event.target.value }) }),
      this.#select("actor", "Actor", "all actors"),
      this.#select("error_type", "Error type", "all error types"),
      caller.tenant === null && h("input", { "aria-label": "Tenant", placeholder: "Tenant", value: tenant, maxlength: 200, onchange: (event) => this.#change({ tenant: event.target.value.trim() }) }),
    );
  }

  #select(name, label, all) {
    const chosen = this.#asked[name] ?? "";
    const values = [...new Set([...this.#seen[name], chosen])].filter(Boolean).sort();
    const option = (value, text) => h("option", { key: value, value }, text);
    return h("select", { "aria-label": label, value: chosen, onchange: (event) => this.#change({ [name]: event.target.value }) }, option("", all), values.map((value) => option(value, value)));
  }

  #none() {
    const isFiltered = this.#asked.text || Object.keys(this.#filter).length > 0;
    return isFiltered
      ? empty("No dead letter matches.", button("Show all dead letters", () => this.#ask({})))
      : empty("Nothing is dead.", "A task that has failed for good comes here. It waits for somebody to run it again, or to give it up.");
  }

  #list(groups) {
    const hasMore = !this.#asked.text && this.#found.length > this.#most;
    const shown = hasMore ? groups.slice(0, this.#most) : groups;
    const toggle = (fingerprint) => this.#change({ group: this.#asked.group === fingerprint ? "" : fingerprint });
    const showMore = () => {
      this.#most += STEP;
      this.again();
    };
    return [
      shown.map((group) =>
        h("error-group", { key: group.fingerprint, props: { group, filter: this.#filter, isOpen: this.#asked.group === group.fingerprint, toggle, again: this.again } })),
      hasMore && button("Show more groups", showMore, { class: "more" }),
    ];
  }

  /** j and k go through the groups and the tasks of the open one; Enter is the browser's own. */
  #press(event) {
    const typing = event.target.closest?.("input, textarea, select");
    const step = { j: 1, k: -1 }[event.key];
    if (!step || typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const rows = [...this.querySelectorAll(".opens")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
  }
}
define("dead-letters-page", DeadLettersPage, "parameters");

function summarize(groups) {
  const tasks = groups.reduce((sum, group) => sum + group.tasks, 0);
  return `${number(tasks)}${groups.every((group) => group.counted_all) ? "" : "+"} in ${plural(groups.length, "group")}`;
}

function hasWords({ error_type: type, message, normalized_message: normalized, actors }, text = "") {
  const said = [type, message, normalized, ...actors.map(({ actor }) => actor)].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => said.includes(word));
}

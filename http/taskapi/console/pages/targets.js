// Targets: which task the others wait for, since when, and how the next one may start. The blocked ones come first.
import { currentAddress, define, h, plural, readAll, replaceQuery, View } from "../core.js";
import { button, card, code, empty, linkToTask, loading, pageHead, pills, problem, row, since, status, table } from "../parts.js";
import { showActs } from "./targets/acts.js";
import "./targets/target-tasks.js";

const STEP = 100;
const COLUMNS = ["Target", "Waits for", "Since", "Waiting", ""];

class TargetsPage extends View {
  #found = null; // {targets, hasMore, q, show}
  #most = STEP;
  #open = new Map(); // whether its tasks are shown, by key; at first those of the one with the whole name in the filter

  start() {
    this.again = this.poll(async (signal) => {
      const { q, show } = this.#filter;
      const read = (blocked) => readAll("/targets", { q, blocked, limit: STEP + 1 }, { most: this.#most + 1, signal });
      const targets = (await Promise.all(show ? [read(true)] : [read(true), read(false)])).flat();
      this.#found = { targets: targets.slice(0, this.#most), hasMore: targets.length > this.#most, q, show };
    }, 2);
    this.hear(window, "hashchange", this.again);
  }

  get #filter() {
    const { query } = currentAddress();
    return { q: query.get("q") ?? "", show: query.get("show") ?? "" };
  }

  #choose(changes) {
    replaceQuery({ ...this.#filter, ...changes });
    this.#most = STEP;
    this.#now();
  }

  #now() {
    this.update();
    this.again();
  }

  content() {
    const { q, show } = this.#filter;
    const isKnown = this.#found?.q === q && this.#found.show === show;
    return [
      pageHead("Targets"),
      pills("Which targets", [["", "all"], ["blocked", "blocked"]], show, (chosen) => this.#choose({ show: chosen }), h("input", {
        type: "search", "aria-label": "Filter targets", placeholder: "Filter by name", value: q, maxlength: 200, oninput: (event) => this.#choose({ q: event.target.value }),
      })),
      this.error && problem(this.error),
      isKnown ? card({ class: "targets" }, this.#list(this.#found)) : !this.error && loading(),
    ];
  }

  #list({ targets, hasMore, q, show }) {
    const showMore = () => {
      this.#most += STEP;
      this.#now();
    };
    if (targets.length) {
      return [
        table({ "aria-label": "Targets" }, COLUMNS, targets.map((each) => this.#rows(each))),
        hasMore && button("Show more", showMore, { class: "more" }),
      ];
    }
    if (q || show) {
      const what = ["No", show, "target", q && `has “${q}” in its name`].filter(Boolean).join(" ");
      return empty(`${what}.`, button("Show all", () => this.#choose({ q: "", show: "" })));
    }
    return empty(
      "No target has unfinished tasks.",
      "A target is what tasks work on: a printer, a repository. Submit tasks with a ", code("target"),
      ", and they run one at a time, in the order of arrival. One that is dead or paused blocks the others until somebody resumes or clears it.",
    );
  }

  #rows(target) {
    const { target: name, tenant, task_id: id, waiting } = target;
    const key = JSON.stringify([tenant, name]);
    const isOpen = this.#open.get(key) ?? this.#filter.q === name;
    const toggle = () => {
      this.#open.set(key, !isOpen);
      this.update();
    };
    return [
      row(
        key,
        [h("button.plain", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, code(name)), h("small", tenant)],
        [status(target.status), " ", linkToTask(id)],
        since(target.since),
        waiting ? `${plural(waiting, "task")} behind it` : h("span.faint", "none behind it"),
        h("td.acts", showActs(target, target, this.again)),
      ),
      isOpen && row(`${key} tasks`, h("td", { colspan: 5 }, h("target-tasks", { props: { target, again: this.again } }))),
    ];
  }
}
define("targets-page", TargetsPage, "parameters");

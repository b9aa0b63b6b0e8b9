// All projects with the state of their queues. Several are started and stopped at once, with a receipt for each.
import { api } from "../core/api.js";
import { caller } from "../core/caller.js";
import { h } from "../core/dom.js";
import { number, plural } from "../core/format.js";
import { goTo, linkTo } from "../core/router.js";
import { View, property } from "../core/view.js";
import { actionButton } from "../parts/action-button.js";
import { chip, code, empty, link, loading, pageHead, problem } from "../parts/basics.js";
import { askForm } from "../parts/form-dialog.js";
import { toast } from "../parts/toasts.js";
import {
  actOnMany, countItems, mayRun, mayStop, projectPath, queueChip, queueTime, stack, taskLink, whyNotStart,
} from "./projects/queue.js";

const SECONDS = 2;
const STEP = 100; // projects that are shown at first, and more at each wish

class ProjectsPage extends View {
  #projects = null;
  #more = false;
  #most = STEP;
  #selected = new Set();
  #receipt = null; // {title, outcomes}
  #error = null;
  #again = () => {};

  start() {
    this.#again = this.poll((signal) => this.#read(signal), SECONDS);
  }

  async #read(signal) {
    try {
      const found = [];
      let cursor;
      do {
        const page = await api.get("/projects", { limit: STEP, cursor }, { signal });
        found.push(...page.items);
        cursor = page.next_cursor;
      } while (cursor && found.length < this.#most);
      this.#projects = found;
      this.#more = Boolean(cursor);
      this.#error = null;
    } catch (error) {
      if (error.status) this.#error = error;
      throw error;
    } finally {
      this.update();
    }
  }

  content() {
    const mayCreate = caller.may("POST /projects");
    return [
      pageHead(
        "Projects",
        mayCreate && h("button", { type: "button", class: "primary", onclick: () => this.#create() }, "New project"),
      ),
      this.#error && problem(this.#error),
      this.#receipt && this.#showReceipt(),
      this.#projects === null ? !this.#error && loading() : this.#projects.length ? this.#list() : this.#none(mayCreate),
    ];
  }

  #none(mayCreate) {
    return h(
      "section",
      { class: "card" },
      empty(
        "No projects yet.",
        "A project is a list of items that agents work off, one after the other. ",
        mayCreate ? "Create one, and add its items." : "Your key may look at projects, not create them.",
      ),
    );
  }

  #list() {
    const all = this.#projects;
    const chosen = all.filter((project) => this.#selected.has(project.project_id));
    const selectable = mayRun() || mayStop();
    const toggleAll = (event) => {
      this.#selected = new Set(event.target.checked ? all.map((project) => project.project_id) : []);
      this.update();
    };
    return h(
      "section",
      { class: "card" },
      selectable && this.#chosenActs(chosen),
      h(
        "div",
        { class: "table" },
        h(
          "table",
          { class: "projects" },
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              selectable &&
                h("th", null, h("input", {
                  type: "checkbox", "aria-label": "Select all projects", onchange: toggleAll,
                  checked: chosen.length === all.length, indeterminate: chosen.length > 0 && chosen.length < all.length,
                })),
              ["Project", "Queue", "Mode", "Items", "Time"].map((name) => h("th", { key: name }, name)),
              selectable && h("th", null, h("span", { class: "unseen" }, "Start and stop")),
            ),
          ),
          h("tbody", null, all.map((project) => this.#row(project, selectable))),
        ),
      ),
      this.#more &&
        h("button", { type: "button", class: "more", onclick: () => this.#showMore() }, "Show more projects"),
    );
  }

  #row(project, selectable) {
    const { project_id: id, name, tenant, items, queue_state: state } = project;
    const toggle = (event) => {
      this.#selected[event.target.checked ? "add" : "delete"](id);
      this.update();
    };
    const done = items.completed + items.failed;
    return h(
      "tr",
      { key: id, "aria-selected": this.#selected.has(id) && "true" },
      selectable &&
        h("td", { class: "pick" }, h("input", {
          type: "checkbox", "aria-label": `Select ${name}`, checked: this.#selected.has(id), onchange: toggle,
        })),
      h(
        "td",
        { class: "name" },
        link(linkTo(projectPath(id)), name, { class: "strong" }),
        h("small", null, code(id), tenant && caller.tenant === null && ` · ${tenant}`),
      ),
      h("td", null, queueChip(project)),
      h("td", { class: "dim" }, state.mode ?? "–"),
      h(
        "td",
        { class: "items" },
        stack(items),
        h("small", null, `${number(done)} of ${number(countItems(items))}`, items.failed > 0 && h("b", null, ` · ${number(items.failed)} failed`)),
      ),
      h("td", { class: "dim" }, queueTime(state)),
      selectable && h("td", { class: "acts" }, this.#rowActs(project)),
    );
  }

  #rowActs(project) {
    const { is_running: running, should_stop: stopping } = project.queue_state;
    const why = whyNotStart(project);
    const start = (mode) => () => this.#act("run", [project], mode);
    return [
      mayRun() && actionButton({ key: "play", label: "Play", title: why ?? "Do the next item", disabled: why, act: start("single") }),
      mayRun() && actionButton({ key: "loop", label: "Loop", title: why ?? "Do all pending items", disabled: why, act: start("loop") }),
      mayStop() &&
        running &&
        actionButton({
          key: "stop", label: stopping ? "Stopping…" : "Stop", title: "Stop after the present item", disabled: stopping,
          act: () => this.#act("stop", [project]),
        }),
    ];
  }

  #chosenActs(chosen) {
    const none = chosen.length === 0;
    const act = (verb, mode) => () => this.#act(verb, chosen, mode);
    return h(
      "div",
      { class: "chosen", role: "group", "aria-label": "Selected projects" },
      h("span", { class: "dim", "aria-live": "polite" }, none ? "Select projects to start or stop several at once." : `${plural(chosen.length, "project")} selected`),
      mayRun() && actionButton({ key: "play", label: "Play selected", disabled: none, act: act("run", "single") }),
      mayRun() && actionButton({ key: "loop", label: "Loop selected", disabled: none, act: act("run", "loop") }),
      mayStop() && actionButton({ key: "stop", label: "Stop selected", disabled: none, act: act("stop") }),
    );
  }

  async #act(verb, projects, mode) {
    const names = new Map(projects.map((project) => [project.project_id, project.name]));
    const idle = new Set(projects.filter((each) => !each.queue_state.is_running).map((each) => each.project_id));
    try {
      const outcomes = await actOnMany(verb, [...names.keys()], mode && { mode });
      const shown = outcomes.map((each) => ({ ...each, name: names.get(each.project_id), idle: idle.has(each.project_id) }));
      if (shown.length === 1 && shown[0].success) toast(`${shown[0].name}: ${verb === "run" ? `started, ${mode}` : "stops after its item"}.`);
      else this.#receipt = { verb, mode, outcomes: shown };
      this.#selected.clear();
    } finally {
      this.#again();
      this.update();
    }
  }

  #showReceipt() {
    const { verb, mode, outcomes } = this.#receipt;
    const good = outcomes.filter((each) => each.success).length;
    const close = () => {
      this.#receipt = null;
      this.update();
    };
    const done = verb === "run" ? `started (${mode})` : "asked to stop";
    return h(
      "section",
      { key: "receipt", class: "card receipt", role: "status" },
      h("h2", null, `${number(good)} of ${plural(outcomes.length, "project")} ${done}`, h("button", { type: "button", class: "plain", onclick: close }, "Close")),
      h("ul", null, outcomes.map((each) => h("li", { key: each.project_id }, outcomeOf(verb, each)))),
    );
  }

  #showMore() {
    this.#most += STEP;
    this.#again();
  }

  async #create() {
    const made = await askForm({
      title: "New project",
      action: "Create",
      fields: (error) => [
        h("label", null, "Name", h("input", {
          name: "name", required: true, maxlength: 200, autocomplete: "off", "aria-invalid": error?.field === "name" && "true",
        })),
        caller.tenant === null && h("label", null, "Tenant (optional)", h("input", { name: "tenant", maxlength: 200, autocomplete: "off" })),
      ],
      send: (form) => api.post("/projects", { name: form.get("name").trim(), tenant: form.get("tenant")?.trim() || null }),
    });
    if (made) goTo(projectPath(made.project_id));
  }
}
property(ProjectsPage, "parameters");
customElements.define("projects-page", ProjectsPage);

function outcomeOf(verb, { name, project_id, success, run_id, error, detail, idle }) {
  const what = success ? (verb === "run" ? "started" : idle ? "not running" : "stops after its item") : "refused";
  const tone = success ? (idle && verb === "stop" ? "canceled" : "completed") : "dead";
  return [
    chip(what, tone),
    link(linkTo(projectPath(project_id)), name),
    detail && h("span", null, detail, " ", code(error)),
    run_id && link(taskLink(run_id), success ? "its run" : "the live run"),
  ];
}

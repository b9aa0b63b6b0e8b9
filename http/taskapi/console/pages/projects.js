// All projects with the state of their queues. Several are started and stopped at once, with a receipt for each.
import { api, caller, goTo, h, linkTo, number, plural, define, readAll, View } from "../core.js";
import { actionButton, askForm, card, chip, code, empty, link, loading, pageHead, problem } from "../parts.js";
import { queueActs } from "./projects/queue-acts.js";
import { countItems, may, projectPath, queueChip, queueTime, showNotice, stack } from "./projects/queue.js";
import { linkToTask } from "./task/waiting.js";

const STEP = 100; // projects that are shown at first, and with each wish for more

class ProjectsPage extends View {
  #projects = null;
  #most = STEP;
  #selected = new Set();
  #notice = null;
  #error = null;
  #again = () => {};

  start() {
    this.#again = this.poll(async (signal) => {
      try {
        this.#projects = await readAll("/projects", { limit: STEP }, { most: this.#most, signal });
        this.#error = null;
      } catch (error) {
        if (error.status) this.#error = error;
        this.update();
        throw error;
      }
    }, 2);
  }

  content() {
    const all = this.#projects;
    const create = caller.may("POST /projects");
    return [
      pageHead("Projects", create && h("button.primary", { type: "button", onclick: createProject }, "New project")),
      this.#error && problem(this.#error),
      this.#notice && showNotice(this.#notice, () => this.#say(null)),
      all ? card({}, all.length ? this.#list(all) : empty("No projects yet.", "A project is a list of items that agents do, one after the other.", create && " Create one, and add its items.")) : loading(),
    ];
  }

  #say(notice) {
    this.#notice = notice;
    this.update();
  }

  #list(all) {
    const chosen = all.filter((each) => this.#selected.has(each.project_id));
    const canAct = may("run");
    const heads = ["Project", "Queue", "Items", "Time"].map((name) => h("th", { key: name }, name));
    return [
      canAct && this.#chosenActs(chosen),
      h(
        "table.projects",
        h("thead", h("tr", canAct && h("th", this.#pick("Select all", all)), heads, h("th"))),
        h("tbody", all.map((each) => this.#row(each, canAct))),
      ),
      all.length >= this.#most && h("button", { type: "button", onclick: () => this.#showMore() }, "Show more"),
    ];
  }

  #pick(label, projects) {
    const ids = projects.map((each) => each.project_id);
    const picked = ids.filter((id) => this.#selected.has(id)).length;
    const onchange = (event) => {
      for (const id of ids) this.#selected[event.target.checked ? "add" : "delete"](id);
      this.update();
    };
    const checked = picked === ids.length;
    return h("input", { type: "checkbox", "aria-label": label, onchange, checked, indeterminate: picked > 0 && !checked });
  }

  #row(project, canAct) {
    const { project_id: id, name, tenant, items, queue_state: state } = project;
    return h(
      "tr",
      { key: id, "aria-selected": this.#selected.has(id) && "true" },
      canAct && h("td", this.#pick(`Select ${name}`, [project])),
      h("td.name", link(linkTo(projectPath(id)), name, { class: "strong" }), h("small", code(id), tenant && ` · ${tenant}`)),
      h("td", queueChip(project)),
      h("td.share", stack(items), h("small", `${number(items.completed)} of ${number(countItems(items))}`, items.failed > 0 && h("b", ` · ${number(items.failed)} failed`))),
      h("td.dim", queueTime(state)),
      h("td.acts", queueActs(project, { say: (notice) => this.#say(notice), again: this.#again }, true)),
    );
  }

  #chosenActs(chosen) {
    const disabled = !chosen.length;
    const button = (label, verb, mode) => actionButton({ key: label, label, disabled, act: () => this.#actOnMany(verb, chosen, mode) });
    return h(
      "div.chosen",
      { role: "group", "aria-label": "Selected projects" },
      h("span.dim", { role: "status" }, disabled ? "Select projects to start or stop several at once." : `${plural(chosen.length, "project")} selected`),
      button("Play selected", "run", "single"),
      button("Loop selected", "run", "loop"),
      button("Stop selected", "stop"),
    );
  }

  async #actOnMany(verb, projects, mode) {
    const outcomes = [];
    for (let from = 0; from < projects.length; from += STEP) {
      const project_ids = projects.slice(from, from + STEP).map((each) => each.project_id);
      outcomes.push(...(await api.post(`/projects/batch/${verb}`, { project_ids, mode })).items);
    }
    const done = outcomes.filter((each) => each.success).length;
    this.#selected.clear();
    this.#say({
      title: `${number(done)} of ${plural(outcomes.length, "project")} ` + (mode ? `started (${mode})` : "asked to stop"),
      tone: done === outcomes.length ? "completed" : "waiting",
      content: h("ul", outcomes.map((each, index) => showOutcome(each, projects[index], verb))),
    });
    this.#again();
  }

  #showMore() {
    this.#most += STEP;
    this.#again();
  }
}
define("projects-page", ProjectsPage);

function showOutcome({ success, run_id: run, error, detail }, { project_id: id, name, queue_state: state }, verb) {
  const [word, tone] = !success
    ? ["refused", "dead"]
    : verb === "run"
      ? ["started", "completed"]
      : state.is_running
        ? ["stops after its item", "completed"]
        : ["was not running", "canceled"];
  return h("li", { key: id }, chip(word, tone), link(linkTo(projectPath(id)), name), detail && h("span", detail, " ", code(error)), run && linkToTask(run));
}

async function createProject() {
  const made = await askForm({
    title: "New project",
    action: "Create",
    fields: () => [
      h("label", "Name", h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off" })),
      !caller.tenant && h("label", "Tenant, if it belongs to one", h("input", { name: "tenant", maxlength: 200, autocomplete: "off" })),
    ],
    send: (form) => api.post("/projects", { name: form.get("name"), tenant: form.get("tenant") || null }),
  });
  if (made) goTo(projectPath(made.project_id));
}

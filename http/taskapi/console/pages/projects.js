// All projects with the state of their queues. Several are started and stopped at once, with a receipt for each.
import { api, caller, define, goTo, h, number, plural, readAll, View } from "../core.js";
import {
  actionButton, askForm, button, card, chip, code, empty, field, link, linkToTask, loading, moreButton, pageHead, problem, stack,
} from "../parts.js";
import { queueActs } from "./projects/queue-acts.js";
import { countItems, may, projectPath, queueChip, queueTime, showNotice } from "./projects/queue.js";

const STEP = 100; // projects that are shown at first, and with each wish for more

class ProjectsPage extends View {
  #projects = null;
  #most = STEP;
  #selected = new Set();
  #notice = null;
  #tools = { say: (notice) => this.#say(notice), again: () => this.again() };

  start() {
    this.again = this.poll(async (signal) => {
      this.#projects = await readAll("/projects", { limit: STEP }, { most: this.#most, signal });
    }, 2);
  }

  content() {
    const all = this.#projects;
    const create = caller.may("POST /projects");
    const none = () => empty("No projects yet.", "A project is a list of items that agents do, one after the other.", create && " Create one, and add its items.");
    return [
      pageHead("Projects", create && button("New project", createProject, { class: "primary" })),
      this.error && problem(this.error),
      this.#notice && showNotice(this.#notice, () => this.#say(null)),
      all ? card({}, all.length ? this.#list(all) : none()) : loading(),
    ];
  }

  #say(notice) {
    this.#notice = notice;
    this.update();
  }

  #list(all) {
    const chosen = all.filter((each) => this.#selected.has(each.project_id));
    const canAct = may("run");
    const showMore = () => {
      this.#most += STEP;
      this.again();
    };
    return [
      canAct && this.#chosenActs(chosen),
      h(
        "table.projects",
        h("thead", h("tr", canAct && h("th", this.#pick("Select all", all)), ["Project", "Queue", "Items", "Time", ""].map((name) => h("th", name)))),
        h("tbody", all.map((each) => this.#row(each, canAct))),
      ),
      all.length >= this.#most && moreButton(showMore),
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
      h("td.name", link(projectPath(id), name, { class: "strong" }), h("small", code(id), tenant && ` · ${tenant}`)),
      h("td", queueChip(project)),
      h("td.share", stack(items), h("small", `${number(items.completed)} of ${number(countItems(items))}`, items.failed > 0 && h("b", ` · ${number(items.failed)} failed`))),
      h("td.dim", queueTime(state)),
      h("td.acts", queueActs(project, this.#tools, true)),
    );
  }

  #chosenActs(chosen) {
    const disabled = !chosen.length;
    const act = (label, verb, mode) => actionButton({ key: label, label, disabled, act: () => this.#actOnMany(verb, chosen, mode) });
    return h(
      "div.chosen",
      { role: "group", "aria-label": "Selected projects" },
      h("span.dim", { role: "status" }, disabled ? "Select projects to start or stop several at once." : `${plural(chosen.length, "project")} selected`),
      act("Play selected", "run", "single"),
      act("Loop selected", "run", "loop"),
      act("Stop selected", "stop"),
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
    this.again();
  }
}
define("projects-page", ProjectsPage);

function showOutcome({ success, run_id: run, error, detail }, { project_id: id, name, queue_state: state }, verb) {
  const stops = state.is_running ? ["stops after its item", "completed"] : ["was not running", "canceled"];
  const outcome = !success ? ["refused", "dead"] : verb === "run" ? ["started", "completed"] : stops;
  return h("li", { key: id }, chip(...outcome), link(projectPath(id), name), detail && h("span", detail, " ", code(error)), run && linkToTask(run));
}

async function createProject() {
  const made = await askForm({
    title: "New project",
    action: "Create",
    fields: () => [
      field("Name", { name: "name", required: true, maxlength: 200 }),
      !caller.tenant && field("Tenant, if it belongs to one", { name: "tenant", maxlength: 200 }),
    ],
    send: (form) => api.post("/projects", { name: form.get("name"), tenant: form.get("tenant") || null }),
  });
  if (made) goTo(projectPath(made.project_id));
}

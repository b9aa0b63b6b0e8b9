// The workflows, newest first: where each one is, and which ones need a person.
import { caller, currentAddress, duration, h, linkTo, define, readAll, replaceQuery, shortId, View } from "../core.js";
import { card, chip, code, empty, link, loading, moment, pageHead, problem, row, status, table } from "../parts.js";
import { progressBar, progressText, secondsBetween } from "./workflow/steps.js";

const STATUSES = ["", "running", "escalated", "failed", "completed", "canceled"];
const COLUMNS = ["Workflow", "Status", "Steps completed", "Now", "Started", "Took", "Tenant"];
const PAGE = 100;

class WorkflowsPage extends View {
  #workflows = null;
  #error = null;
  #most = PAGE;
  #read = null; // the filter that the list was read for

  start() {
    this.again = this.poll((signal) => this.#load(signal), 2);
    this.hear(window, "hashchange", () => this.#change());
  }

  async #load(signal) {
    const { status: its, tenant } = this.#filter;
    try {
      // One more shows whether there are further ones.
      const found = await readAll("/workflows", { status: its, tenant, limit: PAGE + 1 }, { most: this.#most + 1, signal });
      [this.#workflows, this.#error, this.#read] = [found, null, `${its} ${tenant}`];
    } catch (error) {
      if (error.status) this.#error = error;
      this.update();
      throw error;
    }
  }

  get #filter() {
    const { query } = currentAddress();
    return { status: query.get("status") ?? "", tenant: query.get("tenant") ?? "" };
  }

  #choose(changes) {
    replaceQuery({ ...this.#filter, ...changes });
    this.#change();
  }

  #change() {
    const { status: its, tenant } = this.#filter;
    if (`${its} ${tenant}` !== this.#read) [this.#workflows, this.#most] = [null, PAGE];
    this.update();
    this.again();
  }

  content() {
    const { status: chosen, tenant } = this.#filter;
    const choice = (name) =>
      h("button", { type: "button", key: name, "aria-pressed": String(chosen === name), onclick: () => this.#choose({ status: name }) }, name || "all");
    return [
      pageHead("Workflows"),
      h(
        "div.pills",
        { role: "group", "aria-label": "Filter" },
        STATUSES.map(choice),
        caller.tenant === null &&
          h("input", { "aria-label": "Tenant", placeholder: "Tenant", value: tenant, onchange: (event) => this.#choose({ tenant: event.target.value.trim() }) }),
      ),
      this.#error ? problem(this.#error) : this.#workflows ? card({}, this.#list(chosen, tenant)) : loading(),
    ];
  }

  #list(chosen, tenant) {
    const shown = this.#workflows.slice(0, this.#most);
    if (!shown.length && (chosen || tenant)) {
      const what = ["There is no", chosen, "workflow", tenant && `of tenant ${tenant}`].filter(Boolean).join(" ") + ".";
      return empty(what, h("button", { type: "button", onclick: () => this.#choose({ status: "", tenant: "" }) }, "Show all"));
    }
    if (!shown.length) {
      const example = code("callboard workflow create examples/workflow.json");
      return empty("There are no workflows yet.", "A workflow is a set of steps with dependencies: tasks of agents, and approvals of people. Create one with ", example, ".");
    }
    const older = () => {
      this.#most += PAGE;
      this.again();
    };
    return [
      table({ class: "workflows" }, COLUMNS, shown.map(showRow)),
      this.#workflows.length > shown.length && h("p.more", h("button", { type: "button", onclick: older }, "Show older ones")),
    ];
  }
}
define("workflows-page", WorkflowsPage);

function showRow({ workflow_id: id, name, status: its, reason, tenant, step_counts: counts, current_steps: current, created_at: begin, finished_at: end }) {
  const here = `/workflows/${id}`;
  const steps = current.slice(0, 3).map((key, index) => [index > 0 && ", ", link(linkTo(here, { step: key }), key)]);
  return row(
    id,
    [link(linkTo(here), name), h("div.faint", code(shortId(id)))],
    status(its),
    h("div.steps-done", progressBar(counts), progressText(counts)),
    [
      its === "running" && counts.waiting > 0 && [chip("waits for a decision", "waiting"), " "],
      steps.length ? [steps, current.length > steps.length && ", …"] : h("span.dim", reason),
    ],
    moment(begin),
    duration(secondsBetween(begin, end)),
    tenant,
  );
}

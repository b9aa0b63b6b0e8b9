// The workflows, newest first: where each one is, and which ones need a person.
import { caller, currentAddress, define, duration, h, join, readAll, replaceQuery, secondsBetween, shortId, View } from "../core.js";
import {
  button, card, chip, code, empty, link, loading, moment, moreButton, pageHead, pills, problem, row, stack, status, table,
} from "../parts.js";
import { progressText, stepLinks } from "./workflow/steps.js";

const STATUSES = ["", "running", "escalated", "failed", "completed", "canceled"];
const COLUMNS = ["Workflow", "Status", "Steps completed", "Now", "Started", "Took", "Tenant"];
const PAGE = 100;

class WorkflowsPage extends View {
  #workflows = null;
  #most = PAGE;
  #read = null; // the filter that the list was read for

  start() {
    this.again = this.poll((signal) => this.#load(signal), 2);
    this.hearAddress(() => this.#change());
  }

  async #load(signal) {
    const { status: its, tenant } = this.#filter;
    // One more shows whether there are further ones.
    this.#workflows = await readAll("/workflows", { status: its, tenant, limit: PAGE + 1 }, { most: this.#most + 1, signal });
    this.#read = `${its} ${tenant}`;
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
    const onchange = (event) => this.#choose({ tenant: event.target.value.trim() });
    return [
      pageHead("Workflows"),
      pills(
        "Filter",
        STATUSES.map((name) => [name, name || "all"]),
        chosen,
        (name) => this.#choose({ status: name }),
        caller.tenant === null && h("input", { "aria-label": "Tenant", placeholder: "Tenant", value: tenant, onchange }),
      ),
      this.error ? problem(this.error) : this.#workflows ? card({}, this.#list(chosen, tenant)) : loading(),
    ];
  }

  #list(chosen, tenant) {
    const shown = this.#workflows.slice(0, this.#most);
    if (!shown.length && (chosen || tenant)) {
      const what = join(["There is no", chosen, "workflow", tenant && `of tenant ${tenant}`], " ");
      return empty(`${what}.`, button("Show all", () => this.#choose({ status: "", tenant: "" })));
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
      table({ class: "workflows", "aria-label": "Workflows" }, COLUMNS, shown.map(showRow)),
      this.#workflows.length > shown.length && moreButton(older, "Show older ones"),
    ];
  }
}
define("workflows-page", WorkflowsPage);

function showRow({ workflow_id: id, name, status: its, reason, tenant, step_counts: counts, current_steps: current, created_at: begin, finished_at: end }) {
  const steps = stepLinks(id, current.slice(0, 3));
  return row(
    id,
    [link(`/workflows/${id}`, name), h("div.faint", code(shortId(id)))],
    status(its),
    h("div.steps-done", stack(counts), progressText(counts)),
    [
      its === "running" && counts.waiting > 0 && [chip("waits for a decision", "waiting"), " "],
      steps.length ? [steps, current.length > steps.length && ", …"] : h("span.dim", reason),
    ],
    moment(begin),
    duration(secondsBetween(begin, end)),
    tenant,
  );
}

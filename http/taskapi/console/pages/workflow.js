// A workflow: its steps as a graph that follows what runs, the step that one looks at, and its history.
import { api, caller, currentAddress, define, duration, follow, h, linkTo, plural, replaceQuery, secondsBetween, View } from "../core.js";
import { actionButton, button, card, copyButton, crumbs, link, loading, moment, pageHead, problem, stack, status, toast } from "../parts.js";
import { RESUME, decisionButtons, findFinal, mayDecide, offerRepair, resume } from "./workflow/actions.js";
import "./workflow/graph.js";
import { history, stepList } from "./workflow/lists.js";
import "./workflow/step-details.js";
import { countSteps, findCurrent, nameAll, progressText, stepLinks } from "./workflow/steps.js";

const CANCEL = "POST /workflows/{workflow_id}/cancel";
const NARROW = matchMedia("(max-width: 760px)");
const SECONDS = 2;
const QUIET = 4; // while nothing runs, one read of so many is enough

class WorkflowPage extends View {
  #workflow = null;
  #events = [];
  #unfollow = null;
  #view = null; // "graph" or "list", if the user has chosen
  #turn = 0;

  start() {
    this.#follow();
    this.own(() => this.#unfollow?.());
    this.again = this.poll((signal) => this.#read(signal), SECONDS);
    this.hearAddress(() => this.update());
    this.hear(NARROW, "change", () => this.update());
  }

  get #path() {
    return `/workflows/${encodeURIComponent(this.parameters.id)}`;
  }

  async #read(signal) {
    this.#turn += 1;
    if (this.#workflow && !this.error && !isBusy(this.#workflow) && this.#turn % QUIET) return;
    this.#take(await api.get(this.#path, { brief: true }, { signal }));
  }

  #take(workflow) {
    if (!this.isConnected) return; // an action that has ended after somebody has left
    this.#workflow = workflow;
    document.title = `${workflow.name} · Callboard`;
    if (isBusy(workflow)) this.#follow();
    this.update();
  }

  /** Its history from the beginning, or from where it had ended before it was resumed. */
  #follow() {
    if (this.#unfollow) return;
    const end = () => {
      this.#unfollow = null;
      this.#refresh();
    };
    const onEvent = (kind, data) => {
      if (kind === "done") return;
      this.#events.push(data);
      this.#refresh();
    };
    this.#unfollow = follow(`${this.#path}/stream`, { after: this.#events.at(-1)?.n ?? 0, onEvent, onEnd: end, onError: end });
  }

  /** Something was done, here or elsewhere: takes what the server has answered, and reads at once. */
  #refresh(answer) {
    this.#turn = -1;
    if (answer) this.#take(answer);
    this.again?.();
  }

  /** The step of the address; without one, the page follows the workflow. */
  get #chosen() {
    const { query } = currentAddress();
    const task = query.get("task");
    return this.#workflow.steps.find(({ key, task_ids: ids }) => key === query.get("step") || (task && ids.includes(task)));
  }

  #choose(step) {
    replaceQuery({ step });
    this.update();
  }

  content() {
    if (this.error?.status === 404) return [pageHead("Workflow"), problem(this.error), h("p", link("/workflows", "All workflows"))];
    const workflow = this.#workflow;
    if (!workflow) return [pageHead("Workflow"), loading()];
    const step = this.#chosen ?? findCurrent(workflow);
    const done = (answer) => this.#refresh(answer);
    return [
      crumbs("Workflows", "/workflows", workflow.workflow_id, " ", copyButton("Copy id", workflow.workflow_id)),
      pageHead(workflow.name, this.#cancelButton(workflow)),
      this.#notice(workflow, done),
      h(
        "div.grid",
        showFacts(workflow),
        this.#steps(workflow, step),
        h("section.card.span-8", { key: "step" }, h("step-details", { props: { workflow, step, done } })),
        card({ key: "history", title: "History", note: plural(this.#events.length, "event"), span: 4 }, history(workflow, this.#events)),
      ),
    ];
  }

  #cancelButton({ name, status: its, steps }) {
    if (its === "completed" || its === "canceled" || !caller.may(CANCEL)) return null;
    const act = async () => {
      const answer = await api.post(`${this.#path}/cancel`);
      const stopping = countSteps(answer.steps).running;
      toast(`${name} is canceled.` + (stopping ? ` Workers are asked to stop ${plural(stopping, "step")}.` : ""));
      this.#refresh(answer);
    };
    const { running = 0 } = countSteps(steps);
    const text = [
      h("p", "Everything that waits is canceled at once", running && `; ${plural(running, "running step")} will be asked to stop`, "."),
      h("p", "This is final: a canceled workflow cannot be resumed."),
    ];
    return actionButton({ key: "cancel", label: "Cancel workflow", tone: "danger", act, ask: { title: `Cancel ${name}?`, text, action: "Cancel workflow" } });
  }

  /** What needs a person. */
  #notice(workflow, done) {
    if (workflow.status === "failed" || workflow.status === "escalated") return this.#stopped(workflow, done);
    const waiting = workflow.status === "running" ? workflow.steps.filter((each) => each.status === "waiting") : [];
    if (!waiting.length) return null;
    const [step] = waiting;
    const isOne = waiting.length === 1;
    return h(
      "div.notice",
      { key: "notice" },
      h("b", isOne ? `${step.key} waits for a decision` : `${waiting.length} steps wait for a decision`),
      isOne
        ? step.expires_at && h("span", "It expires ", moment(step.expires_at), ".")
        : h("span", stepLinks(workflow.workflow_id, waiting.slice(0, 8).map(({ key }) => key))),
      !mayDecide() && h("span", "An operator can approve or reject."),
      isOne && mayDecide() && h("span.acts", decisionButtons(workflow, step, done)),
    );
  }

  #stopped(workflow, done) {
    const { status: its, reason, escalation, failure_threshold: most } = workflow;
    const final = findFinal(workflow);
    const offer = offerRepair(workflow, done);
    const note = escalation?.note ? ` (${escalation.note})` : "";
    const what =
      final.length >= most
        ? `Nothing can repair ${nameAll(final)}: cancel the workflow, and create another one.`
        : "Nothing new starts. Retry the failed steps, with another payload where it is wrong, or give them up; then resume.";
    const alone = { key: "resume", label: "Resume only", act: async () => done(await resume(workflow)) };
    return h(
      "div.problem.stopped",
      { key: "stopped", role: "alert" },
      h("div", h("b", its === "failed" ? "Failed" : `Escalated to ${escalation.to}${note}`), ": ", reason, h("p", what)),
      offer && h("span.acts", actionButton(offer), offer.label !== "Resume" && caller.may(RESUME) && actionButton(alone)),
    );
  }

  #steps(workflow, step) {
    const view = this.#view ?? (NARROW.matches ? "list" : "graph");
    const isFollowing = !this.#chosen;
    const pressed = (label, isOn, onclick, title) => button(label, onclick, { "aria-pressed": String(isOn), title });
    const show = (name) => () => {
      this.#view = name;
      this.update();
    };
    const select = (key) => this.#choose(key);
    return h(
      "section.card.span-12.steps",
      { key: "steps" },
      h(
        "div.head",
        h("h2", "Steps"),
        h(
          "div.acts",
          isBusy(workflow) &&
            pressed("Follow", isFollowing, () => this.#choose(isFollowing ? step.key : null), "Shows the step that runs, waits or has failed"),
          h("span.switch", pressed("Graph", view === "graph", show("graph")), pressed("List", view === "list", show("list"))),
        ),
      ),
      view === "list"
        ? stepList(workflow, step, select)
        : h("workflow-graph", { key: "graph", props: { steps: workflow.steps, selected: step.key, select } }),
    );
  }
}
define("workflow-page", WorkflowPage);

const isBusy = ({ status: its, steps }) => its === "running" || steps.some((step) => step.status === "running");

function showFacts(workflow) {
  const { workflow_id: id, created_at: begin, finished_at: end, failure_threshold: most, steps } = workflow;
  const counts = countSteps(steps);
  const running = steps.filter((each) => each.status === "running" || each.status === "waiting");
  const pairs = [
    ["Status", status(workflow.status)],
    ["Steps completed", h("span", { role: "status" }, progressText(counts))],
    ["Now", nameAll(running)],
    ["Started", moment(begin)],
    ["Took", `${duration(secondsBetween(begin, end))}${end ? "" : " so far"}`],
    ["Failures tolerated", most > 1 && String(most - 1)],
    ["Tenant", workflow.tenant],
    ["Tasks", link(linkTo("/tasks", { q: `workflow_id:${id}` }), "show them")],
  ];
  return card(
    { key: "facts", class: "workflow-facts" },
    stack(counts),
    h("dl", pairs.map(([name, value]) => value && h("div", { key: name }, h("dt", name), h("dd", value)))),
    !["failed", "escalated"].includes(workflow.status) && workflow.reason && h("p.dim", workflow.reason),
  );
}

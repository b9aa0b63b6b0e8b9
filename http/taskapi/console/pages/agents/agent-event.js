// What an agent has done in a task; its input and its result on demand.
import { api } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { linkTo } from "../../core/router.js";
import { View, property } from "../../core/view.js";
import { code, facts, link, loading, meter, problem } from "../../parts/basics.js";
import { jsonTree } from "../../parts/json-tree.js";
import { moment } from "../../parts/moment-text.js";
import { linkToTask } from "../task/waiting.js";

const LONGEST = 500; // characters of a text to which others are compared

class AgentEvent extends View {
  #whole = null;
  #error = null;
  #asked = false;

  content() {
    const { agent_name: agent, task_type: type, tenant, text, score, task_id: task, created_at: at } = this.event;
    const like = linkTo("/agents", { how: "like", text: text.slice(0, LONGEST).replace(/\s+/g, " ") });
    return [
      h(
        "header",
        null,
        link(linkTo("/agents", { agent_name: agent, task_type: type }), `${agent} · ${type}`, { class: "strong" }),
        tenant,
        this.isScored && meter(score, 1, { label: `likeness ${score.toFixed(2)}` }),
        score !== undefined && h("span", { title: "Higher is nearer" }, score.toFixed(2)),
        h("span", { class: "faint" }, moment(at)),
        linkToTask(task),
      ),
      h("p", null, text),
      h(
        "details",
        { ontoggle: (event) => event.target.open && event.target.parentElement === this && this.#open() },
        h("summary", null, "Input and result"),
        this.#asked && this.#details(),
      ),
      link(like, "Similar ones", { class: "like" }),
    ];
  }

  #details() {
    const whole = this.#whole;
    if (this.#error) return problem(this.#error);
    if (!whole) return loading();
    return facts([
      ["Input", jsonTree(whole.input)],
      ["Result", jsonTree(whole.result)],
      ["Workflow", whole.workflow_id && link(linkTo(`/workflows/${whole.workflow_id}`), code(whole.workflow_id))],
      ["Found by", whole.embedding_model ? `words, and likeness (${whole.embedding_model})` : ["words; ", linkToTask(whole.job_id), " makes it comparable"]],
    ]);
  }

  async #open() {
    this.#asked = true;
    this.update();
    try {
      [this.#whole, this.#error] = [await api.get(`/agent-events/${this.event.event_id}`), null];
    } catch (error) {
      this.#error = error;
    }
    this.update();
  }
}
property(AgentEvent, "event");
property(AgentEvent, "isScored");
customElements.define("agent-event", AgentEvent);

// What an agent has done in a task; its input and its result on demand.
import { api, define, h, linkTo, View } from "../../core.js";
import { code, facts, jsonTree, link, linkToTask, loading, meter, moment, problem } from "../../parts.js";

const LONGEST = 500; // characters of a text to which others are compared

class AgentEvent extends View {
  #whole = null;
  #asked = false;

  content() {
    const { agent_name: agent, task_type: type, tenant, text, score, task_id: task, created_at: at } = this.event;
    const like = linkTo("/agents", { how: "like", text: text.slice(0, LONGEST).replace(/\s+/g, " ") });
    const ontoggle = ({ target }) => target.open && target.parentElement === this && this.#open();
    return [
      h(
        "header",
        link(linkTo("/agents", { agent_name: agent, task_type: type }), `${agent} · ${type}`, { class: "strong" }),
        tenant,
        this.isScored && meter(score, 1, { label: `likeness ${score.toFixed(2)}` }),
        score !== undefined && h("span", { title: "Higher is nearer" }, score.toFixed(2)),
        h("span.faint", moment(at)),
        linkToTask(task),
      ),
      h("p", text),
      h("details", { ontoggle }, h("summary", "Input and result"), this.#asked && this.#details()),
      link(like, "Similar ones", { class: "like" }),
    ];
  }

  #details() {
    const whole = this.#whole;
    if (this.error) return problem(this.error);
    if (!whole) return loading();
    return facts([
      ["Input", jsonTree(whole.input)],
      ["Result", jsonTree(whole.result)],
      ["Workflow", whole.workflow_id && link(`/workflows/${whole.workflow_id}`, code(whole.workflow_id))],
      ["Found by", whole.embedding_model ? `words, and likeness (${whole.embedding_model})` : ["words; ", linkToTask(whole.job_id), " makes it comparable"]],
    ]);
  }

  async #open() {
    this.#asked = true;
    this.update();
    try {
      [this.#whole, this.error] = [await api.get(`/agent-events/${this.event.event_id}`), null];
    } catch (error) {
      this.error = error;
    }
    this.update();
  }
}
define("agent-event", AgentEvent, "event", "isScored");

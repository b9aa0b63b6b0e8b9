// A group of dead letters: what went wrong, how often and since when; its tasks when it is open.
import { api, caller, define, h, linkTo, number, View } from "../../core.js";
import { button, empty, jsonTree, link, loading, moment, problem, sparkline } from "../../parts.js";
import { actOnMany } from "../tasks/bulk-action.js";

const SECONDS = 5;
const STEP = 20;
const REDRIVE = { label: "Redrive", done: "queued again" };

class ErrorGroup extends View {
  content() {
    const { fingerprint, error_type: type, message, actors, tasks, counted_all: all, trend } = this.group;
    const known = trend.slice(trend.lastIndexOf(null) + 1);
    const label = `Deaths in each of the last ${known.length} hours: ${known.join(", ")}`;
    const names = actors.map((each) => `${each.actor} ${number(each.tasks)}`);
    return [
      h(
        "header",
        { onclick: (event) => !event.target.closest("button") && !getSelection().toString() && this.toggle(fingerprint) },
        h(
          "button.plain.opens",
          { type: "button", "aria-expanded": String(Boolean(this.isOpen)), title: message, onclick: () => this.toggle(fingerprint) },
          h("b", type ?? "No error"),
          ` ${message ?? ""}`,
        ),
        h("span.dim.actors", { title: names.join("\n") }, actors.length > 1 ? `${actors[0].actor} and ${actors.length - 1} more` : actors[0].actor),
        h("span.trend", { title: label }, known.length > 0 && sparkline(known, { label, tone: "dead" })),
        h("span.count", h("b", number(tasks), !all && "+"), h("small", tasks === 1 ? "task" : "tasks")),
        h("span.seen", moment(this.group.last_seen), h("small", "first ", moment(this.group.first_seen))),
      ),
      this.isOpen && h("div.group", this.#acts(), h("dead-letters", { props: { filter: { ...this.filter, fingerprint } } })),
    ];
  }

  #acts() {
    const { fingerprint, message, normalized_message: normalized } = this.group;
    const chosen = { filter: { ...this.filter, status: "dead", fingerprint } };
    const act = async (action, said) => (await actOnMany(action, chosen, said)) && this.again();
    return h(
      "div.group-acts",
      normalized !== message && h("p.faint", { title: "What the messages have in common" }, h("code", normalized)),
      caller.may("POST /tasks/bulk") && [button("Redrive…", () => act("retry", REDRIVE)), button("Dismiss…", () => act("dismiss"), { class: "danger" })],
    );
  }
}
define("error-group", ErrorGroup, "group", "filter", "isOpen");

/** The tasks of a group, newest first. */
class DeadLetters extends View {
  #page = null;
  #limit = STEP;

  start() {
    this.again = this.poll(async (signal) => {
      this.#page = await api.get("/queues/dlq", { ...this.filter, limit: this.#limit }, { signal });
    }, SECONDS);
  }

  content() {
    if (this.error) return problem(this.error);
    if (!this.#page) return loading();
    const { items, next_cursor: more } = this.#page;
    const showMore = () => {
      this.#limit = Math.min(500, this.#limit + 4 * STEP);
      this.again();
    };
    return [
      items.length ? h("ul", items.map((task) => h("li", { key: task.task_id }, h("dead-letter", { props: { task } })))) : empty("No task of this group is dead any more."),
      more && (this.#limit < 500 ? button("Show older ones", showMore, { class: "more" }) : h("p.faint", "These are the newest 500.")),
    ];
  }
}
define("dead-letters", DeadLetters, "filter");

class DeadLetter extends View {
  #payload; // once it is open

  content() {
    const { task_id: id, actor, tenant, error, attempt, max_attempts: most, finished_at: at, payload } = this.task;
    const { agent_name: agent, task_type: type } = payload ?? {};
    const name = typeof agent === "string" ? `${agent} · ${type}` : actor;
    return [
      h("header", link(linkTo(`/tasks/${id}`), name, { class: "opens", title: id }), h("span.faint", [tenant, `${attempt} of ${most} attempts`].filter(Boolean).join(" · ")), h("span.faint", moment(at))),
      h("p", error?.message),
      h(
        "details",
        { ontoggle: (event) => event.target.open && this.#open() },
        h("summary", "Payload"),
        this.#payload !== undefined ? jsonTree(this.#payload) : this.error ? problem(this.error) : null,
      ),
    ];
  }

  /** A list leaves large payloads out. */
  async #open() {
    if (this.#payload !== undefined) return;
    try {
      const { omitted, payload, task_id: id } = this.task;
      this.#payload = omitted.includes("payload") ? (await api.get(`/tasks/${id}`)).payload : payload;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.update();
  }
}
define("dead-letter", DeadLetter, "task");

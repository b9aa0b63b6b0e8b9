// What agents have done, with a search by words and by likeness; and which agents there are.
import { api, caller, connection, currentAddress, define, h, linkTo, readAll, replaceQuery, View } from "../core.js";
import { button, card, chip, empty, link, loading, moreButton, pageHead, problem, select, showGate } from "../parts.js";
import { PRIORITIES } from "../parts/work.js";
import "./agents/agent-event.js";

const STEP = 50;
const HOWS = { "": "with all words", like: "similar to" };
const TIMES = { "": "at any time", "1 h": "in the last hour", "24 h": "in the last day", "168 h": "in the last week", between: "between …" };
const readAddress = () => Object.fromEntries(currentAddress().query);
const isLike = ({ how, text }) => how === "like" && Boolean(text?.trim());

class AgentsPage extends View {
  #agents = [];
  #form = readAddress();
  #asked = this.#form; // what the form said when it was sent
  #found = null; // {items, more, note, method}
  #foundFor = null;
  #most = STEP;

  start() {
    this.poll(async (signal) => {
      this.#agents = (await api.get("/agents", {}, { signal })).items;
    }, 60);
    this.again = this.poll((signal) => this.#read(signal), 3);
    this.hearAddress(() => this.#ask(readAddress()));
  }

  async #read(signal) {
    const asked = this.#asked;
    if (isLike(asked) && asked === this.#foundFor) return; // a provider may want money for each search
    const found = await this.#find(asked, signal);
    if (asked === this.#asked) [this.#found, this.#foundFor] = [found, asked];
  }

  async #find(asked, signal) {
    const { agent_name, task_type, tenant, text, time } = asked;
    const filters = { agent_name, task_type, tenant };
    if (isLike(asked)) return api.get("/agent-events/search", { ...filters, q: text.trim(), limit: STEP }, { signal });
    const moment = (at) => at && new Date(at).toISOString();
    if (text) filters.text = text.trim();
    if (time === "between") Object.assign(filters, { from: moment(asked.from), to: moment(asked.to) });
    else if (time) filters.from = moment(connection.now() - 3_600_000 * parseInt(time));
    const items = await readAll("/agent-events", { ...filters, limit: STEP + 1 }, { most: this.#most + 1, signal });
    return { items: items.slice(0, this.#most), more: items.length > this.#most };
  }

  #ask(asked) {
    const isNew = JSON.stringify(asked) !== JSON.stringify(this.#asked);
    this.#form = asked;
    if (isNew) {
      [this.#asked, this.#most, this.error] = [asked, STEP, null];
      replaceQuery(asked);
      this.again();
    }
    this.update();
  }

  /** Words are searched while they are typed; what is similar, when the text is complete. */
  #change(event, isComplete) {
    const asked = Object.fromEntries([...new FormData(event.currentTarget)].filter(([, value]) => value));
    if (event.target.name === "agent_name") delete asked.task_type;
    if (isComplete || !isLike(asked)) return this.#ask(asked);
    this.#form = asked;
    this.update();
  }

  content() {
    return [
      pageHead("Agents"),
      this.#filters(),
      h("div.grid.agents", card({ title: "What they have done", span: 8 }, this.#events()), card({ title: "Which there are", span: 4 }, this.#catalog())),
    ];
  }

  #filters() {
    const { agent_name: agent, task_type: type, tenant, text, how, time, from, to } = this.#form;
    const known = this.#agents.filter((each) => !agent || each.agent_name === agent);
    const input = (name, label, value = "", more) =>
      h("input", { key: name, name, "aria-label": label, placeholder: label, value, autocomplete: "off", ...more });
    const choice = (name, label, value = "", choices) =>
      select({ key: name, name, "aria-label": label, value }, Object.entries(choices));
    return h(
      "form.pills",
      {
        role: "search", "aria-label": "Search the events",
        oninput: (event) => this.#change(event, false),
        onchange: (event) => this.#change(event, true),
        onsubmit: (event) => (event.preventDefault(), this.#change(event, true)),
      },
      choice("agent_name", "Agent", agent, { "": "all agents", ...same(this.#agents, "agent_name", agent) }),
      choice("task_type", "Task type", type, { "": "all task types", ...same(known, "task_type", type) }),
      choice("how", "How to search", how, HOWS),
      input("text", how ? "A text" : "Words", text, { type: "search", maxlength: 500 }),
      !isLike(this.#form) && [
        choice("time", "Time", time, TIMES),
        time === "between" && [input("from", "From", from, { type: "datetime-local" }), input("to", "Until", to, { type: "datetime-local" })],
      ],
      caller.tenant === null && input("tenant", "Tenant", tenant, { maxlength: 200 }),
    );
  }

  #events() {
    const found = this.#found;
    if (this.error) return problem(this.error);
    if (!found) return loading();
    const isFiltered = Object.keys(this.#asked).length > 0;
    const older = () => {
      this.#most += 2 * STEP;
      this.again();
    };
    return [
      found.note && h("p.dim", found.note),
      found.items.map((event) => h("agent-event", { key: event.event_id, props: { event, isScored: found.method === "vector" } })),
      found.items.length === 0 &&
        (isFiltered
          ? empty("Nothing like this has been done.", button("Show everything", () => this.#ask({})))
          : empty("No agent has done anything yet.", "What it does is kept here when its task completes, and agents recall it.")),
      found.more && moreButton(older, "Show older ones"),
    ];
  }

  #catalog() {
    const mayGive = caller.may("POST /tasks");
    return h("ul", this.#agents.map((each) => {
      const { agent_name: agent, task_type: type, description, priority, role, gates } = each;
      const work = linkTo("/submit", { work: `agent:${agent}/${type}` });
      return h(
        "li",
        { key: `${agent}/${type}` },
        h("header", link(linkTo("/agents", { agent_name: agent, task_type: type }), `${agent} · ${type}`, { class: "strong" }),
          role === "operator" && chip("for operators", "waiting"),
          mayGive && caller.mayGive(each) && link(work, "Give it work", { class: "like" })),
        h("p", description),
        h("small", `${PRIORITIES[priority]} priority`, gates.map((gate) => [" · ", showGate(gate)])),
      );
    }));
  }
}
define("agents-page", AgentsPage);

const same = (agents, field, chosen) =>
  Object.fromEntries([...agents.map((each) => each[field]), chosen].filter(Boolean).map((name) => [name, name]));

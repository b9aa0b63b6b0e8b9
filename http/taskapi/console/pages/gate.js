// A gate: its last hour, who holds it and who waits, its limits and who has changed them.
import { api, caller, connection, define, h, number, plural, View } from "../core.js";
import {
  actionButton, askForm, button, card, code, crumbs, field, gatePath, linePlot, loading, moreButton, notice, problem, since, toast,
} from "../parts.js";
import "./gates/gate-limits.js";
import { addSamples, makePlots } from "./gates/history.js";
import { changesTable, holdersTable, waitersTable } from "./gates/tables.js";
import { differences, nextStart, rateOf, stateChip } from "./gates/words.js";

const SECONDS = 3;
const STEP = 20; // rows that are shown at first
const MOST = 500;

class GatePage extends View {
  #gate = null;
  #lists = {}; // holders, waiters and changes, as the server lists them
  #most = {};
  #samples = [];

  start() {
    this.again = this.poll((signal) => this.#read(signal), SECONDS);
  }

  async #read(signal) {
    const { key } = this.parameters;
    const read = (path, query) => api.get(path, query, { signal });
    const list = async (name) => (this.#lists[name] = await read(`/gate-${name}`, { gate: key, limit: this.#most[name] ?? STEP }));
    try {
      const [gate, { items }] = await Promise.all([
        read(gatePath(key)),
        read("/gate-samples", { gate: key, since: this.#samples.at(-1)?.at }),
        ...["holders", "waiters", "changes"].map(list),
      ]);
      this.#gate = gate;
      this.#samples = addSamples(this.#samples, items, connection.now());
    } catch (error) {
      if (error.status === 404) this.#gate = null;
      throw error;
    }
  }

  content() {
    const { key } = this.parameters;
    return [
      crumbs("Gates", "/gates", key),
      this.error && problem(this.error),
      this.error?.status === 404 && h("p.dim", "A gate without settings is shown while tasks use it or wait for it."),
      this.#gate ? this.#show(this.#gate) : !this.error && loading(),
    ];
  }

  #show(gate) {
    const { key, running, waiting } = gate;
    // Other gates have settings only when the code has declared them.
    const mayChange = caller.may("PUT /gates/{key}") && (gate.has_settings || /^(tenant|target|queue):/.test(key));
    const isQueue = key.startsWith("queue:");
    const save = mayChange && ((changes) => this.#put("The limits are changed. They hold for the next start, on all machines.", changes));
    return [
      h("div.head.gate-head", h("h1", code(key)), stateChip(gate), h("div.acts", mayChange && this.#acts(gate)), h("p.dim", isQueue ? queueWords(gate) : nowWords(gate))),
      notices(gate),
      h(
        "div.grid.gate-cards",
        !isQueue && [
          card({ key: "use", title: "Use", note: "last hour", span: 8 }, makePlots(gate, this.#samples, this.#lists.changes.items, connection.now()).map(linePlot)),
          h("gate-limits.span-4", { key: "limits", props: { gate, save } }),
          this.#list("holders", "Who holds it", holdersTable, plural(running, "task"), 6),
          this.#list("waiters", "Who waits", waitersTable, plural(waiting, "task"), 6),
        ],
        this.#list("changes", "Changes", changesTable, "by people, code and the breaker"),
      ),
    ];
  }

  #list(name, title, show, note, span) {
    const { items, next_cursor: more } = this.#lists[name];
    const showMore = () => {
      this.#most[name] = MOST;
      this.again();
    };
    return card({ key: name, title, note, span }, show(items), more && items.length < MOST && moreButton(showMore));
  }

  #acts(gate) {
    const differs = differences(gate);
    const act = (label, title, said, body) => actionButton({ key: label, label, title, act: () => this.#put(said, body) });
    return [
      differs.length > 0 && caller.may("POST /gates/{key}/reset") && actionButton({
        key: "reset", label: "Reset", title: "Set what the code declares",
        ask: { title: "Set what the code declares?", text: differs.map((text) => h("p", text)), action: "Reset", danger: false },
        act: () => this.#take("The gate has what the code declares, and follows it again.", api.post(`${gatePath(gate.key)}/reset`)),
      }),
      gate.state === "closed"
        ? act("Open now", "Let tasks start again", "The gate is open.", { closed_until: null })
        : button("Close for…", () => this.#close()),
      gate.paused
        ? act("Resume", "Let tasks start again", "Resumed: tasks start again.", { paused: false })
        : act("Pause", "No task starts here; those that run go on", "Paused: no task starts here. Those that run go on.", { paused: true }),
    ];
  }

  #close() {
    return askForm({
      title: "Close the gate",
      action: "Close",
      fields: () => [
        h("p.dim", "No task starts here until then; those that run go on, and no attempt is used."),
        field("Minutes", { name: "minutes", type: "number", min: 0.1, step: "any", value: "5", required: true }),
      ],
      send: (form) => {
        const end = new Date(connection.now() + 60_000 * form.get("minutes"));
        return this.#put("The gate is closed. It opens by itself.", { closed_until: end.toISOString() });
      },
    });
  }

  #put(said, body) {
    return this.#take(said, api.put(gatePath(this.parameters.key), body));
  }

  /** Waits for the answer to a change, and shows it. */
  async #take(said, request) {
    this.#gate = await request;
    toast(said);
    this.again();
    this.update();
    return true;
  }
}
define("gate-page", GatePage);

const queueWords = ({ paused }) => (paused ? "No task of this queue starts. They stay queued." : "Tasks of this queue may start.");

function nowWords(gate) {
  const { running, waiting, max_concurrent: limit } = gate;
  const rate = rateOf(gate);
  return [
    limit === null ? `${plural(running, "task")} running` : `${number(running)} of ${plural(limit, "place")} taken`,
    ` · ${plural(waiting, "task")} waiting · next start: `,
    nextStart(gate),
    rate && [" · rate: ", rate],
  ];
}

function notices(gate) {
  const breaker = { breaker_open: "open", breaker_half_open: "half open" }[gate.state];
  const waits = plural(gate.waiting, "task waits", "tasks wait");
  const differs = differences(gate);
  return [
    breaker &&
      notice(`The breaker is ${breaker}`, ["for ", since(gate.breaker_changed_at), `: too many calls have failed. ${waits}, no attempts are spent; `, nextStart(gate), "."]),
    differs.length > 0 && h("div.differs", { key: "differs" }, differs.map((text) => h("p", text)), h("p.faint", "A deploy does not undo it.")),
  ];
}

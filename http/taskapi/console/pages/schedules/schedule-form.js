// The form of a schedule: when, what, and how. While it is filled in, it says when the schedule would be due.
import { api, caller, define, h, View, writeJson } from "../../core.js";
import { askForm, loading, problem } from "../../parts.js";
import "../../parts/schema-form.js";
import { findWork, PRIORITIES, readWork, schemaOf, workSelect } from "../../parts/work.js";
import { schedulePath, showTick } from "./words.js";

const PREVIEW_AFTER = 300; // milliseconds
const WHEN = { name: { type: "string" }, cron: { type: "string" }, timezone: { type: "string", default: "UTC" } };

/** Creates a schedule, or changes the given one. Returns what the server answers; null if the user has gone back. */
export const askSchedule = (schedule) =>
  askForm({
    title: schedule ? `Change ${schedule.name}` : "New schedule",
    action: schedule ? "Save" : "Create",
    wide: true,
    fields: () => h("schedule-form", { props: { schedule } }),
    send: (_, form) => form.querySelector("schedule-form").send(),
    place: ({ field }) => field,
  });

class ScheduleForm extends View {
  #work = null;
  #chosen = null;
  #root = null; // the OpenAPI document, to which the references in its schemas refer
  #schemas = {}; // of when, payload and options
  #begin = {}; // what their forms begin with
  #forms = {}; // elements
  #before = {}; // the schedule as the form shows it
  #preview = null;

  start() {
    this.own(() => clearTimeout(this.timer));
    this.poll((signal) => this.#work ?? this.#read(signal), 60);
  }

  async #read(signal) {
    const [work, root] = await Promise.all([readWork(signal), api.get("/openapi.json", {}, { signal })]);
    const { name, cron, timezone, actor, payload, tenant, paused, ...options } = root.components.schemas.NewScheduleBody.properties;
    const its = this.schedule;
    options.priority = { enum: PRIORITIES };
    if (!its) Object.assign(options, !caller.tenant && { tenant }, { paused });
    this.#root = root;
    this.#before = its ? { ...its, priority: PRIORITIES[its.priority] } : { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone };
    for (const [part, properties] of Object.entries({ when: WHEN, options })) {
      this.#schemas[part] = { type: "object", properties, required: ["name", "cron"] };
      this.#begin[part] = Object.fromEntries(Object.keys(properties).map((each) => [each, this.#before[each] ?? undefined]));
    }
    this.#work = work;
    this.#choose(its ? findWork(work, its.actor, its.payload) : work[0], its?.payload);
    this.#ask();
  }

  #choose(work, payload) {
    this.#chosen = work;
    this.#begin.payload = payload;
    this.#schemas.payload = work && schemaOf(work, payload);
    this.update();
  }

  /** What media take depends on what is chosen. */
  #follow() {
    const schema = schemaOf(this.#chosen, this.#forms.payload.peek());
    if (writeJson(schema) !== writeJson(this.#schemas.payload)) this.#schemas.payload = schema;
    this.update();
  }

  #ask() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const { cron, timezone } = this.#forms.when.peek();
      this.#preview = null;
      try {
        if (cron) this.#preview = await api.get("/schedules/preview", { cron, timezone });
        this.#forms.when.refuse("");
      } catch (error) {
        this.#refuse(error, false);
      }
      this.update();
    }, PREVIEW_AFTER);
  }

  /** Sends what was typed; of a schedule that there is, what differs. undefined: something cannot be read, and says so. */
  async send() {
    const { when, payload, options } = Object.fromEntries(Object.entries(this.#forms).map(([name, form]) => [name, form.read()]));
    if (!when || when.errors + options.errors + (payload?.errors ?? 0)) return undefined;
    const typed = { ...when.value, ...options.value, ...(payload && { actor: this.#chosen.actor, payload: payload.value ?? {} }) };
    try {
      return await (this.schedule ? api.patch(schedulePath(this.schedule), this.#differences(typed)) : api.post("/schedules", typed));
    } catch (error) {
      this.#refuse(error);
      throw error;
    }
  }

  #differences(typed) {
    const schemas = { ...WHEN, ...this.#schemas.options.properties };
    const all = { ...Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, schema.default ?? null])), ...typed };
    return Object.fromEntries(Object.entries(all).filter(([name, value]) => writeJson(value) !== writeJson(this.#before[name])));
  }

  #refuse({ field, message }, focus = true) {
    if (!field) return;
    const [name, ...rest] = field.split(".");
    const part = name === "payload" ? name : name in WHEN ? "when" : "options";
    if (part === "options") this.querySelector("details").open = true;
    this.#forms[part]?.refuse(part === name ? rest.join(".") : field, message.replace(`${field}: `, ""), { focus });
  }

  content() {
    if (!this.#work) return this.error ? problem(this.error) : loading();
    const chosen = this.#chosen;
    const choose = (event) => this.#choose(this.#work.find((each) => each.id === event.target.value));
    return [
      this.#form("when", () => this.#ask()),
      h("p.hint.due", { key: "due", role: "status" }, this.#preview ? showDue(this.#preview) : "Five fields, such as 30 6 * * 1-5, or @daily."),
      h(
        "div.field",
        { key: "work" },
        h("label", { for: "scheduled-work" }, "What to run"),
        workSelect(this.#work, chosen, { id: "scheduled-work", onchange: choose }),
        h("p.hint", chosen ? chosen.description : `It is ${this.schedule?.actor ?? "nothing"}, which cannot be chosen here.`),
      ),
      chosen && this.#form("payload", () => this.#follow(), chosen.id),
      h("details", { key: "more" }, h("summary", "Options"), this.#form("options")),
    ];
  }

  #form(name, onchange, key = name) {
    const created = (form) => {
      this.#forms[name] = form;
      form.addEventListener("change", onchange);
    };
    const root = name === "payload" ? undefined : this.#root;
    return h("schema-form", { key, props: { root, begin: this.#begin[name], schema: this.#schemas[name] }, created });
  }
}
define("schedule-form", ScheduleForm, "schedule");

const showDue = ({ description, next_ticks: ticks, timezone }) => [h("b", description), `, in ${timezone}: `, h("span.ticks", ticks.map((at) => showTick(at, timezone)))];

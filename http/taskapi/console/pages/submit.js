// Gives an actor or an agent work: a form for its payload, or JSON; what it will cost; and what becomes of it.
import { api, caller, currentAddress, define, h, parseJson, replaceQuery, View, writeJson } from "../core.js";
import { button, card, copyButton, curlOf, empty, link, loading, pageHead, problem, submitButton } from "../parts.js";
import { findWork, readWork, schemaOf, workSelect } from "../parts/work.js";
import "../parts/json-editor.js";
import "../parts/schema-form.js";
import "../parts/live-task.js";
import { keepDraft, readDraft } from "./submit/drafts.js";
import { showTakes } from "./submit/takes.js";

const MOST_SHOWN = 5; // tasks
const PREVIEW_AFTER = 300; // milliseconds
const WAITS = [1, 2, 4, 8]; // seconds between tries while the server or its database does not answer

class SubmitPage extends View {
  #work = null;
  #chosen = null;
  #schema = null;
  #error = null; // what the server has said about what was submitted
  #options = null; // the schema of what can be said about a task beside its payload
  #document = null; // the OpenAPI document, to which the references in it refer
  #begin = undefined; // the payload that the form begins with
  #json = null; // the text, while the payload is edited as JSON
  #form = null; // elements
  #optionsForm = null;
  #editor = null;
  #sent = null; // {text, key}: a request of which nobody knows yet whether it has arrived
  #busy = false;
  #preview = null; // what it will cost, or {error}
  #previewTimer = null;
  #tasks = []; // ids, the newest first
  #goToResult = false;

  start() {
    if (!caller.may("POST /tasks")) return;
    this.#tasks = (currentAddress().query.get("tasks") ?? "").split(",").filter(Boolean);
    this.poll((signal) => this.#work || this.#readAll(signal), 60);
    this.hearAddress(() => this.#work && this.#followAddress());
    this.own(() => clearTimeout(this.#previewTimer));
  }

  async #readAll(signal) {
    const [work, document] = await Promise.all([readWork(signal), api.get("/openapi.json", {}, { signal })]);
    const { actor, payload, ...properties } = document.components.schemas.NewTaskBody.properties;
    this.#document = document;
    if (caller.tenant) delete properties.tenant;
    const names = properties.priority.anyOf.find((each) => each.enum);
    properties.priority = { ...names, description: properties.priority.description };
    this.#options = { type: "object", properties };
    this.#work = work;
    await this.#followAddress();
  }

  /** Chooses what the address names: `work`, or a task that is to be submitted again (`like`). */
  async #followAddress() {
    const { query } = currentAddress();
    const like = query.get("like");
    if (like) {
      try {
        const task = await api.get(`/tasks/${encodeURIComponent(like)}`);
        this.#choose(findWork(this.#work, task.actor, task.payload), task.payload);
      } catch (error) {
        this.#error = error;
      }
    } else if (query.get("work") !== this.#chosen?.id) {
      this.#choose(this.#work.find((each) => each.id === query.get("work")) ?? this.#work[0]);
    }
    this.update();
  }

  #choose(work, payload = readDraft(work)) {
    this.#chosen = work ?? null;
    this.#error = this.#preview = this.#json = null;
    this.#begin = payload;
    this.#schema = work && schemaOf(work, payload);
    this.#noteAddress();
    this.#askPreview();
    this.update();
  }

  /** The answer to a request may come when somebody is on another page. */
  #noteAddress() {
    if (currentAddress().path === "/submit") replaceQuery({ work: this.#chosen?.id, tasks: this.#tasks.join(",") });
  }

  /** Returns the payload, or undefined if it cannot be read; what is wrong is shown then. */
  #read() {
    if (this.#json !== null) return this.#editor.read();
    const { value, errors } = this.#form.read();
    return errors ? undefined : (value ?? {});
  }

  #changed() {
    this.#error = null;
    if (this.#json === null) {
      const payload = this.#form.peek();
      keepDraft(this.#chosen, payload);
      const schema = this.#chosen.media ? schemaOf(this.#chosen, payload) : this.#schema;
      if (writeJson(schema) !== writeJson(this.#schema)) this.#schema = schema;
    } else {
      this.#json = this.#editor.value;
    }
    this.#askPreview();
    this.update();
  }

  #switch() {
    if (this.#json === null) {
      this.#json = writeJson(this.#form.peek() ?? {}, 2);
    } else {
      const payload = this.#editor.read();
      if (payload === undefined) return;
      this.#begin = payload;
      this.#schema = schemaOf(this.#chosen, payload);
      this.#json = null;
    }
    this.#error = null;
    this.update();
  }

  #askPreview() {
    clearTimeout(this.#previewTimer);
    if (!this.#chosen?.media || !caller.may("POST /providers/{name}/preview")) return;
    this.#previewTimer = setTimeout(() => this.#readPreview(), PREVIEW_AFTER);
  }

  async #readPreview() {
    const payload = this.#peek();
    if (!payload || !this.#chosen?.media) return;
    const { provider, action_type: action } = this.#chosen.payload_schema.properties;
    const name = payload.provider ?? provider.default;
    const body = { action_type: payload.action_type ?? action.default, params: payload.params ?? {} };
    let preview;
    try {
      preview = await api.post(`/providers/${encodeURIComponent(name)}/preview`, body);
    } catch (error) {
      preview = { error };
    }
    if (writeJson(payload) !== writeJson(this.#peek())) return; // another one is on its way
    this.#preview = preview;
    if (this.#json === null) this.#form?.refuse(preview.error?.field ?? "", preview.error && withoutField(preview.error), { focus: false });
    this.update();
  }

  #peek() {
    if (this.#json === null) return this.#form?.peek() ?? this.#begin ?? {};
    try {
      return parseJson(this.#json);
    } catch {
      return null;
    }
  }

  async #submit(event) {
    event.preventDefault();
    if (this.#busy || !this.#chosen) return;
    const payload = this.#read();
    const options = this.#optionsForm?.read() ?? { value: {}, errors: 0 };
    if (payload === undefined || options.errors) return;
    const body = { actor: this.#chosen.actor, payload, ...options.value };
    const text = writeJson(body);
    // The same again, when the answer was lost, is the same request: it is submitted once.
    if (this.#sent?.text !== text) this.#sent = { text, key: makeKey() };
    this.#busy = true;
    this.#error = null;
    this.update();
    try {
      const task = await this.#send(body);
      this.#tasks = [task.task_id, ...this.#tasks.filter((id) => id !== task.task_id)].slice(0, MOST_SHOWN);
      this.#noteAddress();
      this.#goToResult = true;
      this.#sent = null;
      this.#error = null;
    } catch (error) {
      if (!isUnanswered(error)) this.#sent = null;
      this.#show(error);
    }
    this.#busy = false;
    this.update();
  }

  /** Tries again while there is no answer: with its key, a request is done once. */
  async #send(body) {
    for (const wait of [...WAITS, 0]) {
      try {
        return await api.post("/tasks", body, { headers: { "Idempotency-Key": this.#sent.key } });
      } catch (error) {
        if (!isUnanswered(error) || !wait || !this.isConnected) throw error;
        this.#error = error;
        this.update();
        await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
      }
    }
  }

  #show(error) {
    this.#error = error;
    const field = error.field?.startsWith("payload") ? error.field.slice("payload.".length) : null;
    if (field !== null && this.#json !== null) this.#editor.refuse(field, withoutField(error));
    else if (field) this.#form.refuse(field, withoutField(error));
    else if (error.field && this.#optionsForm) this.#optionsForm.refuse(error.field, withoutField(error));
  }

  shown() {
    const first = this.#goToResult && this.querySelector("live-task");
    if (!first) return;
    this.#goToResult = false;
    first.parentElement.scrollIntoView({ block: "nearest" });
  }

  content() {
    if (!caller.may("POST /tasks")) {
      return [pageHead("Submit"), empty("Your key may read only.", "A key with the role submitter may submit tasks.")];
    }
    if (!this.#work) return [pageHead("Submit"), this.error ? problem(this.error) : loading()];
    const body = () => ({ actor: this.#chosen.actor, payload: this.#peek() ?? {}, ...this.#optionsForm?.peek() });
    return [
      pageHead("Submit", this.#chosen && copyButton("Copy as curl", () => curlOf("POST", "/tasks", body()))),
      h(
        "div.grid.submit",
        h(
          "form.card.span-7",
          { novalidate: true, onsubmit: (event) => this.#submit(event), onkeydown: submitOnEnter },
          this.#choice(),
          this.#chosen ? this.#fields() : this.#error && problem(this.#error),
        ),
        h("div.aside.span-5", this.#chosen && showTakes(this.#chosen, this.#preview?.error ? null : this.#preview), this.#results()),
      ),
    ];
  }

  #choice() {
    const choose = (event) => this.#choose(this.#work.find((each) => each.id === event.target.value));
    return h(
      "div.field",
      h("label", { for: "work" }, "What to run"),
      workSelect(this.#work, this.#chosen, { id: "work", onchange: choose }),
      this.#chosen?.description && h("p.hint", this.#chosen.description),
    );
  }

  #fields() {
    const onchange = () => this.#changed();
    const isJson = this.#json !== null;
    const as = (label, json) => button(label, () => json !== isJson && this.#switch(), { "aria-pressed": String(json === isJson) });
    return [
      h("div.mode", { key: "mode" }, h("h2", "Payload"), h("span.switch", as("Form", false), as("JSON", true))),
      isJson
        ? h("json-editor", { key: `json-${this.#chosen.id}`, props: { text: this.#json, label: "Payload" }, created: (editor) => (this.#editor = editor), onchange })
        : h("schema-form", { key: `form-${this.#chosen.id}`, props: { begin: this.#begin, schema: this.#schema }, created: (form) => (this.#form = form), onchange }),
      h(
        "details",
        { key: "options" },
        h("summary", "Options", h("small.faint", " priority, queue, delay, target, dedup key and others")),
        h("schema-form", {
          props: { root: this.#document, schema: this.#options },
          created: (form) => (this.#optionsForm = form),
          onchange: () => this.update(),
        }),
      ),
      this.#error && h("div", { key: "problem" }, problem(this.#error), isUnanswered(this.#error) && this.#comfort()),
      h(
        "div.acts",
        { key: "acts" },
        submitButton("Submit", this.#busy),
        h("span.faint", h("kbd", "Ctrl"), " ", h("kbd", "Enter")),
      ),
    ];
  }

  #comfort() {
    return h("p.hint", this.#busy ? "Trying again…" : "What you have typed is kept. Submit it again: it will not run twice.");
  }

  #results() {
    if (!this.#tasks.length) {
      return card({ title: "Result", key: "result" }, empty("Nothing submitted yet.", "What you submit is shown here as it runs. It goes on when you close the page."));
    }
    return card(
      { title: "Results", note: link("/tasks", "All tasks"), key: "result" },
      this.#tasks.map((id) => h("live-task", { key: id, props: { taskId: id } })),
    );
  }
}
define("submit-page", SubmitPage);

const withoutField = ({ message, field }) => (field && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message);

function submitOnEnter(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
}

const isUnanswered = ({ status, error }) => status === 0 || status >= 500 || error === "idempotency-pending";

const makeKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

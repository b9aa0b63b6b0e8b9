// A form for a JSON schema. What a form cannot express is edited as JSON, field by field. Nothing is checked here that the
// server checks: its errors are shown beside the fields.
import { define, h, join, View } from "../core.js";
import { select } from "./fields.js";
import { CONTROLS, smallButton, text } from "./schema-controls.js";
import { describe, Entries, fits, limitsOf, put, read, resolve, seed, titleOf } from "./schema.js";

let forms = 0;

/** `schema`, and `root` if its references begin elsewhere; `begin`: the value at first. Sends `change`. */
class SchemaForm extends View {
  #id = `form-${(forms += 1)}`;
  #value = undefined;
  #errors = new Map(); // messages by path
  #variants = new Map(); // the chosen one, by path
  #removals = 0; // lists with fewer entries are built anew: fields are known by their places
  #goToError = false;

  changed(name) {
    if (name === "begin") this.#value = this.begin;
    if (name === "schema" && this.schema) {
      const begun = seed(this.schema, this.#root);
      if (begun && typeof begun === "object") this.#value = { ...begun, ...this.#value };
    }
  }

  get #root() {
    return this.root ?? this.schema;
  }

  /** Returns {value, errors}: the JSON, and how many fields could not be read; they say so. */
  read() {
    const errors = new Map();
    const value = read(this.#value, errors);
    if (errors.size) {
      this.#errors = errors;
      this.#goToError = true;
      this.update();
    }
    return { value, errors: errors.size };
  }

  /** Returns the JSON without a word about what cannot be read. */
  peek() {
    return read(this.#value, new Map());
  }

  /** Shows what the server has said about a field such as "params.width". Without a message, what it has said is over. */
  refuse(path, message, { focus = true } = {}) {
    this.#errors = new Map(message ? [[path, message]] : []);
    this.#goToError = Boolean(message) && focus;
    this.update();
  }

  content() {
    if (!this.schema) return [];
    const { kind, schema } = describe(this.schema, this.#root);
    if (kind === "object" && fits({ kind, schema }, this.#value ?? {})) return this.#members(schema, this.#value, []);
    return this.#field(this.schema, this.#value, [], { label: titleOf(schema, ""), required: true });
  }

  shown() {
    if (!this.#goToError) return;
    this.#goToError = false;
    const field = this.querySelector("[aria-invalid=true], .field-error");
    field?.focus?.();
    field?.scrollIntoView({ block: "nearest" });
  }

  #set(path, value) {
    this.#value = put(this.#value, path, value);
    const changed = path.join(".");
    for (const each of this.#errors.keys()) if (each === changed || each.startsWith(`${changed}.`)) this.#errors.delete(each);
    this.update();
    this.dispatchEvent(new Event("change"));
  }

  /** The error at a path or below it, unless a field below shows it. */
  #errorAt(path, shows = () => false) {
    const own = path.join(".");
    for (const [at, message] of this.#errors) {
      if (at === own) return message;
      const rest = own ? (at.startsWith(`${own}.`) ? at.slice(own.length + 1) : null) : at;
      if (rest !== null && !shows(rest.split(".")[0])) return path.length ? `${rest}: ${message}` : `${at}: ${message}`;
    }
    return null;
  }

  #members(schema, value, path) {
    const properties = Object.entries(schema.properties ?? {});
    const unknown = Object.keys(value ?? {}).filter((name) => !(name in (schema.properties ?? {})));
    return [
      this.#note(path, (name) => name in (schema.properties ?? {})),
      properties.map(([name, each]) =>
        this.#field(each, value?.[name], [...path, name], { name, required: schema.required?.includes(name) }),
      ),
      unknown.length > 0 && h("p.hint", { key: "unknown" }, `Also there, as the JSON shows: ${unknown.join(", ")}`),
    ];
  }

  /** A field with its name, what to know about it, and what is wrong with it. */
  #field(given, value, path, { name = "", label, required = false }) {
    let described = describe(given, this.#root);
    if (described.kind === "const" && fits(described, value)) return null;
    if (!fits(described, value)) described = { ...described, kind: "json" };
    const { kind, schema } = described;
    const title = label ?? titleOf({ ...schema, ...resolve(given, this.#root) }, name);
    const draw = { object: this.#object, array: this.#array, map: this.#map, choice: this.#choice }[kind];
    const key = `${path.join(".")}:${kind}`;
    const about = join([schema.description, limitsOf(schema)], " ");
    const needed = required && !label && kind !== "object" && "needed";
    if (draw) {
      const heading = h("legend", { class: needed }, title);
      const content = draw.call(this, described, value, path, { required });
      return h("fieldset", { key }, heading, about && h("p.hint", about), content);
    }
    const id = `${this.#id}-${path.join("-") || "value"}`;
    const error = this.#errorAt(path);
    const attributes = {
      id,
      "aria-describedby": join([about && `${id}-about`, error && `${id}-error`], " ") || undefined,
      "aria-invalid": error && "true",
      "aria-required": required && "true",
    };
    const control = (CONTROLS[kind] ?? text)({
      ...described,
      value,
      attributes,
      required,
      title,
      set: (next) => this.#set(path, next),
    });
    const isCheck = control.attributes.type === "checkbox";
    return h(
      "div",
      { key, class: ["field", isCheck && "check", (control.tag === "textarea" || kind === "json") && "wide"] },
      isCheck && control,
      h("label", { for: kind === "json" ? undefined : id, class: needed }, title),
      !isCheck && control,
      about && h("p.hint", { id: `${id}-about` }, about),
      error && h("p.field-error", { id: `${id}-error`, role: "alert" }, error),
    );
  }

  #object({ schema, nullable }, value, path, { required }) {
    if (value === undefined || value === null) {
      if (required && !nullable) return this.#members(schema, {}, path);
      return [this.#note(path), smallButton("Add", () => this.#set(path, seed(schema, this.#root) ?? {}))];
    }
    return [this.#members(schema, value, path), !required && smallButton("Remove", () => this.#set(path, undefined))];
  }

  #array({ schema }, value, path) {
    const list = value ?? [];
    const remove = (index) => {
      this.#removals += 1;
      this.#variants.clear();
      const rest = list.filter((_, each) => each !== index);
      this.#set(path, rest.length ? rest : undefined);
    };
    return [
      this.#note(path, (name) => Number(name) < list.length),
      list.map((each, index) => [
        h(
          "div.entry",
          { key: `${this.#removals}-${index}` },
          this.#field(schema.items, each ?? undefined, [...path, index], { label: `${index + 1}`, required: true }),
          smallButton("Remove", () => remove(index), `Remove entry ${index + 1}`),
        ),
      ]),
      smallButton("Add", () => this.#set(path, [...list, this.#begin(schema.items)])),
    ];
  }

  #map({ schema }, value, path) {
    const list = value instanceof Entries ? value.list : Object.entries(value ?? {});
    const change = (next) => this.#set(path, next.length ? new Entries(next) : undefined);
    const rename = (index, to) => change(list.map(([key, each], at) => [at === index ? to : key, each]));
    const remove = (index) => {
      this.#removals += 1;
      change(list.filter((_, at) => at !== index));
    };
    if (value && !(value instanceof Entries)) this.#value = put(this.#value, path, new Entries(list));
    return [
      this.#note(path),
      list.map(([key, each], index) =>
        h(
          "div.entry",
          { key: `${this.#removals}-${index}` },
          h("input", { value: key, "aria-label": `Name ${index + 1}`, oninput: (event) => rename(index, event.target.value) }),
          this.#field(schema.additionalProperties, each ?? undefined, [...path, index], { label: "Value", required: true }),
          smallButton("Remove", () => remove(index), `Remove entry ${index + 1}`),
        ),
      ),
      smallButton("Add", () => change([...list, ["", this.#begin(schema.additionalProperties)]])),
    ];
  }

  #choice({ variants, nullable, schema }, value, path, { required }) {
    const at = path.join(".");
    const fitting = variants.findIndex((each) => value !== undefined && value !== null && fits(describe(each, this.#root), value));
    const chosen = this.#variants.get(at) ?? (fitting < 0 && (required || value !== undefined) ? 0 : fitting);
    const choose = (event) => {
      const index = Number(event.target.value);
      this.#variants.set(at, index);
      this.#set(path, index < 0 ? undefined : seed(variants[index], this.#root));
    };
    const name = (each, index) => each.title ?? each.type ?? each.enum?.join(", ") ?? `${index + 1}`;
    const id = `${this.#id}-${path.join("-")}-kind`;
    const none = nullable || schema.default !== undefined || !required;
    const variant = variants[chosen];
    const isObject = variant && describe(variant, this.#root).kind === "object";
    return [
      h(
        "div.field",
        { key: "kind" },
        h("label", { for: id }, "Kind"),
        select({ id, value: String(chosen), onchange: choose }, [...(none ? [[-1, "–"]] : []), ...variants.map((each, index) => [index, name(each, index)])]),
      ),
      isObject && this.#members(variant, value, path),
      variant && !isObject && this.#field(variant, value ?? undefined, path, { label: "Value", required }),
    ];
  }

  #begin(schema) {
    return seed(schema, this.#root) ?? (describe(schema, this.#root).kind === "string" ? "" : null);
  }

  #note(path, shows) {
    const error = this.#errorAt(path, shows);
    return error && h("p.field-error", { key: "error", role: "alert", tabindex: -1 }, error);
  }
}
define("schema-form", SchemaForm, "root", "begin", "schema");

// The controls of a form for a JSON schema: one for each kind of value.
import { bytes, h, writeJson } from "../core.js";
import { button } from "./basics.js";
import { select } from "./fields.js";
import "./json-editor.js";
import { LONG, Typed } from "./schema.js";

export const smallButton = (label, onclick, name) =>
  button(label, onclick, { key: `act-${name ?? label}`, class: "small", "aria-label": name });

const typed = (value) => (value instanceof Typed ? value.text : String(value ?? ""));
const placeholder = (schema) => typed(schema.default) || undefined;

/** `value`, `attributes`, `required`: of the field; set(value) changes it. */
export function text({ schema, value, attributes, required, set }) {
  const oninput = (event) => set(event.target.value === "" && !required ? undefined : event.target.value);
  const isLong = schema.maxLength > LONG || /\n/.test(value ?? "") || (value ?? "").length > LONG;
  const types = { email: "email", uri: "url", password: "password" };
  const all = { ...attributes, value: value ?? "", placeholder: placeholder(schema), oninput, autocomplete: "off" };
  return isLong ? h("textarea", all) : h("input", { ...all, type: types[schema.format] ?? "text" });
}

const numeric = (kind) => ({ schema, value, attributes, set }) =>
  h("input", {
    ...attributes,
    inputmode: kind === "integer" ? "numeric" : "decimal",
    autocomplete: "off",
    placeholder: placeholder(schema),
    value: typed(value),
    oninput: (event) => set(event.target.value.trim() === "" ? undefined : new Typed(event.target.value, kind)),
  });

const clocked = (type) => ({ value, attributes, set }) =>
  h("input", { ...attributes, type, step: type === "date" ? undefined : 1, value: value ?? "", oninput: (event) => set(event.target.value || undefined) });

function choose({ schema, value, attributes, required, set }, values) {
  const isDefault = (each) => schema.default !== undefined && writeJson(each) === writeJson(schema.default);
  const index = values.findIndex((each) => value !== undefined && writeJson(each) === writeJson(value));
  const fallback = values.find(isDefault);
  const nothing = fallback !== undefined ? `${label(fallback)} (default)` : required ? "Choose…" : "–";
  const others = values.map((each, at) => [at, label(each)]).filter(([at]) => at === index || !isDefault(values[at]));
  return select({ ...attributes, value: String(index), onchange: (event) => set(values[event.target.value]) }, [[-1, nothing], ...others]);
}
const label = (value) => (value === true ? "yes" : value === false ? "no" : typeof value === "string" ? value : writeJson(value));

function check(field) {
  const { schema, value, attributes, nullable, set } = field;
  if (nullable || typeof schema.default !== "boolean") return choose(field, [true, false]);
  return h("input", { ...attributes, type: "checkbox", checked: value ?? schema.default, onchange: (event) => set(event.target.checked) });
}

/** A moment is typed in the time zone of the browser, and sent in UTC. */
function moment({ value, attributes, set }) {
  const at = new Date(value);
  const local = Number.isNaN(at.getTime()) ? "" : new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  const oninput = (event) => set(event.target.value ? new Date(event.target.value).toISOString() : undefined);
  return h("input", { ...attributes, type: "datetime-local", step: 1, value: local, oninput });
}

function file({ value, attributes, set }) {
  if (value) {
    return h("span.chosen", `${bytes((value.replace(/=+$/, "").length * 3) >> 2)} chosen `, smallButton("Remove", () => set(undefined)));
  }
  const choose = async (event) => {
    const content = new Uint8Array(await event.target.files[0].arrayBuffer());
    const parts = [];
    for (let at = 0; at < content.length; at += 0x8000) parts.push(String.fromCharCode(...content.subarray(at, at + 0x8000)));
    set(btoa(parts.join("")));
  };
  return h("input", { ...attributes, type: "file", onchange: choose });
}

function json({ value, title, set }) {
  const begin = value instanceof Typed ? value.text : value === undefined ? "" : writeJson(value, 2);
  const onchange = ({ currentTarget: editor }) => set(editor.value.trim() ? new Typed(editor.value, "json") : undefined);
  return h("json-editor", { props: { text: begin, label: title }, onchange });
}

export const CONTROLS = {
  integer: numeric("integer"),
  number: numeric("number"),
  boolean: check,
  enum: (field) => choose(field, field.schema.enum),
  date: clocked("date"),
  time: clocked("time"),
  moment,
  file,
  json,
};

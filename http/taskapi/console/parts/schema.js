// JSON schemas as forms need them: what kind of field a schema is, what to say about it, and how what was typed is read.
import { join, number, parseJson, words, writeJson } from "../core.js";

/** Characters of a text that gets several lines. */
export const LONG = 400;

/** What somebody has typed into a field that is not a text. It is read when the form is. */
export class Typed {
  constructor(text, kind) {
    Object.assign(this, { text, kind });
  }
}

/** The members of an object whose names are typed as well: [[name, value], …] */
export class Entries {
  constructor(list) {
    this.list = list;
  }
}

/** Follows references; what stands beside a reference goes first. `root` is the document in which they are. */
export function resolve(schema, root) {
  for (let steps = 0; schema?.$ref && steps < 20; steps += 1) {
    const { $ref, ...beside } = schema;
    const names = $ref.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    schema = { ...names.reduce((node, name) => node?.[name], root), ...beside };
  }
  if (schema?.allOf?.length !== 1) return schema && typeof schema === "object" ? schema : {};
  const { allOf, ...beside } = schema;
  return { ...resolve(allOf[0], root), ...beside };
}

/** Returns {kind, schema, nullable, variants} of a schema. What has no kind of its own is edited as JSON. */
export function describe(given, root) {
  const { anyOf, oneOf, ...schema } = resolve(given, root);
  const several = anyOf ?? oneOf ?? (Array.isArray(schema.type) && schema.type.map((type) => ({ ...schema, type })));
  if (!several) return { kind: kindOf(schema), schema, nullable: false };
  const variants = several.map((each) => resolve(each, root)).filter((each) => each.type !== "null" && each.const !== null);
  const nullable = variants.length < several.length;
  if (variants.length === 1) {
    const only = describe({ ...variants[0], ...schema, type: variants[0].type }, root);
    return { ...only, nullable: nullable || only.nullable };
  }
  const values = variants.map((each) => each.enum ?? ("const" in each ? [each.const] : null));
  if (values.every(Boolean)) return { kind: "enum", schema: { ...schema, enum: values.flat() }, nullable };
  return { kind: "choice", schema, nullable, variants };
}

const FORMATS = { date: "date", time: "time", "date-time": "moment", base64: "file", binary: "file" };

function kindOf(schema) {
  const { type, items, properties, additionalProperties: others } = schema;
  if ("const" in schema) return "const";
  if (schema.enum) return "enum";
  if (type === "string") return FORMATS[schema.contentEncoding ?? schema.format] ?? "string";
  if (["integer", "number", "boolean"].includes(type)) return type;
  if (type === "array" && isSchema(items) && !schema.prefixItems) return "array";
  if (type !== "object" && !properties) return "json";
  if (properties && Object.keys(properties).length) return "object";
  return isSchema(others) ? "map" : others === false ? "object" : "json";
}

const isSchema = (each) => typeof each === "object" && Object.keys(each).length > 0;
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Typed);
const isWhole = (value) => typeof value === "bigint" || Number.isInteger(value);

/** Whether the field of a kind can show a value. */
export function fits({ kind, schema, nullable }, value) {
  if (value === undefined || (value === null && nullable)) return true;
  if (value instanceof Typed) return value.kind === kind;
  if (kind === "enum") return schema.enum.some((each) => writeJson(each) === writeJson(value));
  if (kind === "const") return writeJson(schema.const) === writeJson(value);
  if (kind === "integer") return isWhole(value);
  if (kind === "number") return typeof value === "number" || typeof value === "bigint";
  if (kind === "boolean") return typeof value === "boolean";
  if (kind === "array") return Array.isArray(value);
  if (kind === "map") return isRecord(value);
  if (kind === "object") {
    const fixed = Object.entries(schema.properties ?? {}).filter(([, each]) => "const" in each);
    return isRecord(value) && fixed.every(([name, each]) => value[name] === undefined || value[name] === each.const);
  }
  return kind === "choice" || kind === "json" || typeof value === "string";
}

/** Returns what a new value of a schema begins with: fixed values, and the objects that must be there. */
export function seed(given, root) {
  const { kind, schema } = describe(given, root);
  if (kind === "const") return schema.const;
  if (kind !== "object") return undefined;
  const value = {};
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    const needed = schema.required?.includes(name);
    const begun = needed || "const" in resolve(each, root) ? seed(each, root) : undefined;
    if (begun !== undefined) value[name] = begun;
  }
  return value;
}

/** Returns the JSON of what is in a form. What cannot be read is noted in `errors` by its path, and left as it was typed. */
export function read(value, errors, path = "") {
  const below = (name) => (path ? `${path}.${name}` : String(name));
  if (value instanceof Typed) {
    const [result, error] = parse(value);
    if (error) errors.set(path, error);
    return error ? value.text : result;
  }
  if (Array.isArray(value)) return value.map((each, index) => read(each, errors, below(index)));
  if (!isRecord(value)) return value;
  const pairs = value instanceof Entries ? value.list : Object.entries(value);
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) errors.set(path, `There are two members ${JSON.stringify(twice)}.`);
  return Object.fromEntries(pairs.map(([name, each]) => [name, read(each, errors, below(name))]));
}

function parse({ text, kind }) {
  const trimmed = text.trim();
  if (kind === "integer" && !/^-?\d+$/.test(trimmed)) return [null, "This is not a whole number."];
  if (kind === "number" && !/^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(trimmed)) return [null, "This is not a number."];
  try {
    return [parseJson(kind === "json" ? trimmed : trimmed.replace(/^(-?)0+(?=\d)/, "$1"))];
  } catch (error) {
    return [null, `This is not JSON: ${error.message}`];
  }
}

/** Returns the tree with another value at a path of names; undefined takes it away. */
export function put(tree, [name, ...rest], value) {
  if (name === undefined) return value;
  if (tree instanceof Entries) {
    return new Entries(tree.list.map(([key, each], index) => [key, index === name ? put(each, rest, value) : each]));
  }
  const copy = Array.isArray(tree) ? [...tree] : { ...(isRecord(tree) ? tree : {}) };
  const next = put(copy[name], rest, value);
  if (next === undefined && !Array.isArray(copy)) delete copy[name];
  else copy[name] = next;
  return copy;
}

/** Returns the name for people: the title, unless it only repeats the name. */
export function titleOf(schema, name) {
  const text = words(name);
  const own = schema.title && schema.title.toLowerCase() !== text && !(schema.properties && name) ? schema.title : text;
  return own ? own[0].toUpperCase() + own.slice(1) : "";
}

/** Returns what a value must be, in a few words. */
export function limitsOf(schema) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, multipleOf } = schema;
  const said = [range(minimum, maximum, "")];
  if (exclusiveMinimum !== undefined) said.push(`more than ${number(exclusiveMinimum)}`);
  if (exclusiveMaximum !== undefined) said.push(`less than ${number(exclusiveMaximum)}`);
  if (multipleOf !== undefined) said.push(`a multiple of ${number(multipleOf)}`);
  const most = maxLength > LONG ? undefined : maxLength; // nobody counts more
  said.push(range(minLength > 1 ? minLength : undefined, most, "characters"), range(minItems, maxItems, "entries"));
  if (schema.pattern) said.push(`fits ${schema.pattern}`);
  if (schema.default && typeof schema.default === "object") said.push(`default ${writeJson(schema.default)}`);
  return join(said, " · ");
}

function range(least, most, unit) {
  const text =
    least === undefined && most === undefined ? ""
    : most === undefined ? `at least ${number(least)}`
    : least === undefined ? `up to ${number(most)}`
    : least === most ? number(most)
    : `${number(least)} to ${number(most)}`;
  return text && unit ? `${text} ${unit}` : text;
}

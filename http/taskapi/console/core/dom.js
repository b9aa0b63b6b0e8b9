// Builds and updates the page. A view describes its content with h(); render() changes what differs, so that focus,
// selection and scroll positions survive. Text is always text: nothing here parses markup.

/** Describes an element: h("p.dim", {title: "…"}, "text"), with or without classes and attributes. Children may be nested
 *  lists; null, undefined and booleans are skipped. Attributes of their own meaning: key (identity among siblings), class (text or a list), style (an object),
 *  data (an object for dataset), props (an object of properties of a custom element), on… (listeners), and
 *  created (called once with the new element). */
export function h(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const { key, ...attributes } = isAttributes(children[0]) ? children.shift() : {};
  if (classes.length) attributes.class = [classes, attributes.class].flat();
  return { tag, key, attributes, children: children.flat(Infinity).filter(isShown) };
}

const isAttributes = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !("tag" in value);

/** Makes the content of an element what the descriptions say. */
export function render(parent, ...described) {
  const inSvg = parent.namespaceURI === SVG;
  reconcile(parent, described.flat(Infinity).filter(isShown), inSvg);
}

const SVG = "http://www.w3.org/2000/svg";
const DESCRIPTION = Symbol("description");
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "indeterminate", "open", "hidden"]);

const isShown = (child) => child !== null && child !== undefined && typeof child !== "boolean" && child !== "";

function reconcile(parent, described, inSvg) {
  const keys = new Set();
  for (const each of described) if (each.key !== undefined) keys.add(each.key);
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    const key = node[DESCRIPTION]?.key;
    if (key === undefined) continue;
    if (keys.has(key)) keyed.set(key, node);
    else node.remove();
  }
  let current = parent.firstChild;
  for (const each of described) {
    const node = find(each, current, keyed) ?? create(each, inSvg);
    if (node === current) current = current.nextSibling;
    else parent.insertBefore(node, current);
    update(node, each, inSvg);
  }
  while (current) {
    const next = current.nextSibling;
    current.remove();
    current = next;
  }
}

function find(each, current, keyed) {
  if (typeof each !== "object") return current?.nodeType === Node.TEXT_NODE ? current : null;
  const candidate = each.key === undefined ? current : keyed.get(each.key);
  const known = candidate?.[DESCRIPTION];
  return known && known.tag === each.tag && known.key === each.key ? candidate : null;
}

function create(each, inSvg) {
  if (typeof each !== "object") return document.createTextNode("");
  const node = inSvg || each.tag === "svg" ? document.createElementNS(SVG, each.tag) : document.createElement(each.tag);
  node[DESCRIPTION] = { tag: each.tag, key: each.key, attributes: {} };
  Object.assign(node, each.attributes.props); // before it enters the page: start() knows them
  return node;
}

function update(node, each, inSvg) {
  if (typeof each !== "object") {
    const text = String(each);
    if (node.data !== text) node.data = text;
    return;
  }
  const before = node[DESCRIPTION].attributes;
  const isNew = !("updated" in node[DESCRIPTION]);
  node[DESCRIPTION] = { tag: each.tag, key: each.key, attributes: each.attributes, updated: true };
  for (const name in before) if (!(name in each.attributes)) setAttribute(node, name, undefined, before[name]);
  const late = []; // the value of a select needs its options
  for (const [name, value] of Object.entries(each.attributes)) {
    if (PROPERTIES.has(name)) late.push([name, value]);
    else setAttribute(node, name, value, before[name]);
  }
  const ownsContent = each.tag.includes("-"); // a custom element renders itself
  if (!ownsContent) reconcile(node, each.children, inSvg || each.tag === "svg");
  for (const [name, value] of late) if (node[name] !== value) node[name] = value ?? (name === "value" ? "" : false);
  if (isNew) each.attributes.created?.(node);
}

function setAttribute(node, name, value, before) {
  if (name === "created") return;
  if (name.startsWith("on")) {
    node[name.toLowerCase()] = value ?? null;
  } else if (name === "style") {
    for (const property in before) if (!(value && property in value)) node.style.removeProperty(property);
    for (const property in value) node.style.setProperty(property, value[property]);
  } else if (name === "data") {
    Object.assign(node.dataset, value);
  } else if (name === "props") {
    Object.assign(node, value);
  } else if (value === undefined || value === null || value === false) {
    node.removeAttribute(name);
  } else {
    const text = value === true ? "" : Array.isArray(value) ? value.filter(Boolean).join(" ") : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}

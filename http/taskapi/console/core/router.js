// Addresses of pages are in the fragment, "#/tasks/tq_…?tab=history": they need nothing of the server.
import { isGiven } from "./json.js";

/** {path: "/tasks/tq_…", query: URLSearchParams} of the current address. */
export function currentAddress() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  return { path: path || "/", query: new URLSearchParams(query) };
}

/** The link to a page. */
export function linkTo(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => isGiven(value));
  const search = new URLSearchParams(given).toString();
  return `#${path}${search && "?"}${search}`;
}

export function goTo(path, query) {
  location.hash = linkTo(path, query);
}

/** Changes the query of the address without a new entry in the browser's history. */
export function replaceQuery(query) {
  const { path } = currentAddress();
  history.replaceState(null, "", linkTo(path, query));
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // "%" that somebody has typed
  }
}

/** Returns the parameters if the path fits the pattern ("/tasks/:id", "/gates/:key*" for the whole rest), else null. */
export function match(pattern, path) {
  const parameters = {};
  const parts = path.split("/");
  const wanted = pattern.split("/");
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":") && part.endsWith("*")) {
      parameters[part.slice(1, -1)] = parts.slice(index).map(decode).join("/");
      return parts.length > index ? parameters : null;
    }
    if (parts[index] === undefined) return null;
    if (part.startsWith(":")) parameters[part.slice(1)] = decode(parts[index]);
    else if (part !== parts[index]) return null;
  }
  return parts.length === wanted.length ? parameters : null;
}

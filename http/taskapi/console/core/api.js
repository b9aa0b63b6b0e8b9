// The only place that calls the server. Paths are relative to the page, so it can live below any path.
import { connection } from "./connection.js";
import { isGiven, parseJson, writeJson } from "./json.js";
import { key } from "./key.js";

/** An answer that is an error, as a problem document (RFC 9457), or no answer at all (status 0). */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.error = problem.error ?? "unknown";
    this.title = problem.title ?? "";
    this.field = problem.field ?? null;
    this.problem = problem;
  }
}

const PREFIX = "/api/v1";

/** The address of a path of the API; paths that begin with the prefix, such as links in answers, stay as they are. */
export function urlOf(path, query) {
  const own = path.startsWith("/api/") || OUTSIDE.has(path) ? path : PREFIX + path;
  const url = new URL(own.slice(1), document.baseURI);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (isGiven(value)) url.searchParams.set(name, value);
  }
  return url;
}
const OUTSIDE = new Set(["/health", "/readyz", "/openapi.json"]);

export async function send(path, { method = "GET", query, body, headers, signal, stream = false } = {}) {
  const all = { ...key.headers(), ...headers };
  const sentKey = key.text;
  if (body !== undefined) all["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(urlOf(path, query), {
      method,
      headers: all,
      body: body === undefined ? undefined : writeJson(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.noteLoss();
    throw new ApiError(0, { error: "unreachable", detail: "The server cannot be reached. Nothing is lost: tasks go on." });
  }
  connection.noteAnswer(response);
  if (stream && response.ok) return response;
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("Content-Type") ?? "");
  const answer = isJson && text ? parseJson(text) : null;
  if (!response.ok && path !== "/health") {
    if (response.status === 401 && key.text === sentKey) key.refuse(); // else another one has come meanwhile
    throw new ApiError(response.status, answer ?? {});
  }
  return answer;
}

const withBody = (method) => (path, body, options) => send(path, { ...options, method, body });

export const api = {
  get: (path, query, options) => send(path, { ...options, query }),
  post: withBody("POST"),
  put: withBody("PUT"),
  patch: withBody("PATCH"),
  delete: (path) => send(path, { method: "DELETE" }),
};

/** Reads a list page after page; stops after `most` items. */
export async function readAll(path, query, { most = 1000, signal } = {}) {
  const items = [];
  let cursor;
  do {
    const page = await api.get(path, { ...query, cursor }, { signal });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return items;
}

/** An address that <img> and <video> can load: they send no key, so a token for this one path stands for it. */
export async function contentUrl(path) {
  if (!key.text) return urlOf(path).href;
  const { token } = await api.post("/stream-tokens", { path });
  return urlOf(path, { token }).href;
}

// A call of the API as a command for a shell, or as a Python program. The key itself is in neither: both take it from the
// environment, as the command callboard does.
import { key, urlOf, writeJson } from "../core.js";

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(method, path, body) {
  const lines = [`curl -sS -X ${method} ${quote(urlOf(path).href)}`];
  if (key.text) lines.push('-H "Authorization: Bearer $CALLBOARD_KEY"');
  if (body === undefined) return lines.join(" \\\n  ");
  // As a document: an argument may have 128 KiB only. And an interactive shell would expand exclamation marks.
  const text = writeJson(body, 2).replaceAll("!", "\\u0021");
  lines.push("-H 'Content-Type: application/json'", "--data-binary @- <<'JSON'");
  return `${lines.join(" \\\n  ")}\n${text}\nJSON\n`;
}

export function pythonOf(method, path, body) {
  const headers = [`"Content-Type": "application/json"`];
  if (key.text) headers.push(`"Authorization": "Bearer " + os.environ["CALLBOARD_KEY"]`);
  return [
    "import json",
    key.text && "import os",
    "import urllib.request",
    "",
    `body = ${literal(body)}`,
    "request = urllib.request.Request(",
    `    ${JSON.stringify(urlOf(path).href)},`,
    "    data=json.dumps(body).encode(),",
    `    headers={${headers.join(", ")}},`,
    `    method="${method}",`,
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.read().decode())",
    "",
  ]
    .filter((line) => line !== null)
    .join("\n");
}

/** A JSON value as Python writes it: texts and numbers are the same. */
function literal(value, indent = "") {
  const more = `${indent}    `;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return writeJson(value);
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(([name, each]) => more + (isList ? "" : `${JSON.stringify(name)}: `) + `${literal(each, more)},`);
  const [begin, end] = isList ? "[]" : "{}";
  return members.length ? `${begin}\n${members.join("\n")}\n${indent}${end}` : begin + end;
}

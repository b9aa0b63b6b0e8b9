// The drafts of payloads: what was typed is kept until the tab is closed: one may look at the task, and come back.
import { parseJson, writeJson } from "../../core.js";

const draftOf = (work) => `callboard-draft:${work.id}`;

export function readDraft(work) {
  const text = work && sessionStorage.getItem(draftOf(work));
  return text ? parseJson(text) : undefined;
}

export function keepDraft(work, payload) {
  try {
    sessionStorage.setItem(draftOf(work), writeJson(payload ?? {}));
  } catch {
    sessionStorage.removeItem(draftOf(work)); // too large
  }
}

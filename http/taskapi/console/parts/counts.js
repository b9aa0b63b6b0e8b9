// How many there are of what the navigation names, for callers who may know it.
import { api, caller, key, LIVE, poll } from "../core.js";

const SECONDS = 3;

class Counts extends EventTarget {
  status = null; // the last answer of /queues/status
  #counts = new Map();

  /** Begins to read them; returns a function that ends it. */
  watch() {
    const { again, end } = poll((signal) => this.#read(signal), SECONDS);
    caller.addEventListener("change", again);
    return end;
  }

  /** {value, bad} for a page, or undefined. */
  of(path) {
    return this.#counts.get(path);
  }

  async #read(signal) {
    if (key.refused || !caller.may("GET /queues/status")) return;
    this.status = await api.get("/queues/status", {}, { signal });
    const { states, queues } = this.status;
    this.#set("/tasks", LIVE.reduce((sum, name) => sum + states[name], 0));
    this.#set("/dead-letters", queues.dlq, queues.dlq > 0);
    this.dispatchEvent(new Event("change"));
  }

  #set(path, value, bad = false) {
    if (value) this.#counts.set(path, { value, bad });
    else this.#counts.delete(path);
  }
}

export const counts = new Counts();

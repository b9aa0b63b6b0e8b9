// What the page knows of a task's history: the events that it has read, from the end, and those that have arrived since.
import { api } from "../../core/api.js";

const PAGE = 100;

export class History {
  #path;
  #events = new Map(); // by number
  #known = new Map(); // by kind, "" for all: {from: the first number that is known, cursor: where the rest begins, or null}
  #sorted = null;

  /** `path`: of the task in the API. */
  constructor(path) {
    this.#path = path;
  }

  add(...events) {
    for (const event of events) this.#events.set(event.n, event);
    this.#sorted = null;
  }

  /** The known events of a kind, the oldest first; null as long as none were read. */
  list(kind = "") {
    const known = this.#known.get(kind);
    if (!known) return null;
    this.#sorted ??= [...this.#events.values()].sort((one, other) => one.n - other.n);
    return this.#sorted.filter((event) => event.n >= known.from && (!kind || event.kind === kind));
  }

  /** The first event that the task has, if it is known. */
  get first() {
    return this.#events.get(1);
  }

  /** Whether there are older events of the kind. */
  hasMore(kind = "") {
    return this.#known.get(kind)?.cursor !== null;
  }

  /** The kinds of all known events. */
  kinds() {
    return new Set([...this.#events.values()].map((event) => event.kind));
  }

  /** Reads the next older page; the newest one at first. */
  async readPage(kind = "", { limit = PAGE, signal } = {}) {
    const known = this.#known.get(kind);
    if (known?.cursor === null) return;
    const query = { order: "newest", kind, limit, cursor: known?.cursor };
    const { items, next_cursor: cursor } = await api.get(`${this.#path}/events`, query, { signal });
    this.add(...items);
    this.#known.set(kind, { from: cursor === null ? 0 : items.at(-1).n, cursor });
  }

  /** Reads events of a kind back to a number, and not more than `most` of them. */
  async readBackTo(from, kind, { most, signal }) {
    while (this.hasMore(kind) && !((this.#known.get(kind)?.from ?? Infinity) <= from) && (this.list(kind)?.length ?? 0) < most)
      await this.readPage(kind, { limit: 500, signal });
  }
}

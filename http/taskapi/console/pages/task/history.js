// The events of a task that the page knows: those it has read, from the end, and those that have arrived since.
import { api } from "../../core.js";

export class History {
  #path; // of the task's events in the API
  #events = new Map(); // by number
  #read = new Map(); // by kind ("" for all): the first number that is known, and the cursor of what is before it
  #sorted = null;

  constructor(path) {
    this.#path = path;
  }

  get first() {
    return this.#events.get(1);
  }

  get kinds() {
    return new Set([...this.#events.values()].map((event) => event.kind));
  }

  add(...events) {
    for (const event of events) {
      const isNewest = this.#sorted && event.n > (this.#sorted.at(-1)?.n ?? 0);
      this.#events.set(event.n, event);
      if (isNewest) this.#sorted.push(event);
      else this.#sorted = null;
    }
  }

  /** The known events of a kind, the oldest first; null before any were read. */
  list(kind) {
    const read = this.#read.get(kind);
    while (!kind && this.#events.has(read?.from - 1)) read.from -= 1; // read as events of their kind
    this.#sorted ??= [...this.#events.values()].sort((one, other) => one.n - other.n);
    return read ? this.#sorted.filter((event) => event.n >= read.from && (!kind || event.kind === kind)) : null;
  }

  hasMore(kind) {
    return !(this.#read.get(kind)?.from <= 1);
  }

  async readOlder(kind, limit, signal) {
    if (!this.hasMore(kind)) return;
    const query = { order: "newest", kind, limit, cursor: this.#read.get(kind)?.cursor };
    const { items, next_cursor: cursor } = await api.get(this.#path, query, { signal });
    this.add(...items);
    this.#read.set(kind, { from: cursor === null ? 1 : items.at(-1).n, cursor });
  }

  /** Reads events of a kind back to a number, but not more than `most`. */
  async readBack(kind, from, most, signal) {
    while (this.hasMore(kind) && !(this.#read.get(kind)?.from <= from) && (this.list(kind)?.length ?? 0) < most) {
      await this.readOlder(kind, 500, signal);
    }
  }
}

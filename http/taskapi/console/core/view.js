// The base of our custom elements: a view shows its content again, at most once a frame, when update() is called.
import { render } from "./dom.js";
import { poll } from "./poll.js";
import { currentAddress } from "./router.js";

export class View extends HTMLElement {
  #due = false;
  #ends = [];
  error = null; // what the server has answered to the last read of poll(), if it was an error

  connectedCallback() {
    this.start();
    this.update();
  }

  disconnectedCallback() {
    for (const end of this.#ends.splice(0)) end();
  }

  /** Called when the element enters the page. */
  start() {}

  /** Returns what the element shows. */
  content() {
    return [];
  }

  update() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      if (!this.isConnected) return;
      render(this, this.content());
      this.shown();
    });
  }

  /** Called after the content has changed on the page. */
  shown() {}

  /** Calls `end` when the element leaves the page. */
  own(end) {
    this.#ends.push(end);
  }

  /** Listens to events of something that outlives the element. */
  hear(target, type, listener) {
    target.addEventListener(type, listener);
    this.own(() => target.removeEventListener(type, listener));
  }

  /** Calls the listener when the address changes and the page stays. */
  hearAddress(listener) {
    const { path } = currentAddress();
    this.hear(window, "hashchange", () => currentAddress().path === path && listener());
  }

  /** Reads now and again every so many seconds while the page is visible, and updates; returns a function that reads at
   *  once. A view that shows `error` should read with one poll. */
  poll(read, seconds) {
    const { again, end } = poll(async (signal) => {
      try {
        await read(signal);
        this.error = null;
      } catch (error) {
        if (error.status) this.error = error;
        throw error;
      } finally {
        this.update();
      }
    }, seconds);
    this.own(end);
    return again;
  }
}

/** Declares a property that updates the view when it is set. */
export function property(view, name) {
  const stored = Symbol(name);
  Object.defineProperty(view.prototype, name, {
    get() {
      return this[stored];
    },
    set(value) {
      if (Object.is(this[stored], value)) return;
      const before = this[stored];
      this[stored] = value;
      this.changed?.(name, before);
      this.update();
    },
  });
}

/** Defines an element; each of the properties updates it when it is set. */
export function define(tag, view, ...properties) {
  for (const name of properties) property(view, name);
  customElements.define(tag, view);
}

// Whether the server can be reached, and what time it is there.
class Connection extends EventTarget {
  lostSince = null;
  #offset = 0;

  /** The server's time in milliseconds: the clock of this machine may be wrong. */
  now() {
    return Date.now() + this.#offset;
  }

  noteAnswer(response) {
    const date = Date.parse(response.headers.get("Date") ?? "");
    if (!Number.isNaN(date) && Math.abs(date - Date.now()) > 2000) this.#offset = date - Date.now();
    else if (!Number.isNaN(date)) this.#offset = 0;
    this.#set(null);
  }

  noteLoss() {
    this.#set(this.lostSince ?? Date.now());
  }

  #set(lostSince) {
    if (this.lostSince === lostSince) return;
    this.lostSince = lostSince;
    this.dispatchEvent(new Event("change"));
  }
}

export const connection = new Connection();

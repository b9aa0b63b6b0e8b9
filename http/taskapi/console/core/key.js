// The API key of this browser tab, or of this browser if the user wants it to be remembered.
const NAME = "callboard-key";

class Key extends EventTarget {
  text = sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
  refused = false; // the server has asked for a key, or for another one

  headers() {
    return this.text ? { Authorization: `Bearer ${this.text}` } : {};
  }

  use(text, { remember }) {
    this.forget();
    this.text = text;
    (remember ? localStorage : sessionStorage).setItem(NAME, text);
    this.#set(false);
  }

  forget() {
    this.text = null;
    localStorage.removeItem(NAME);
    sessionStorage.removeItem(NAME);
  }

  refuse() {
    this.#set(true);
  }

  #set(refused) {
    this.refused = refused;
    this.dispatchEvent(new Event("change"));
  }
}

export const key = new Key();

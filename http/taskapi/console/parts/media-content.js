// A file that an actor has made, shown as what it is: the server says its type.
import { bytes, contentUrl, define, h, send, View } from "../core.js";
import { problem } from "./basics.js";

class MediaContent extends View {
  #file = null; // {type, size, url}
  #error = null;
  #again = true;

  start() {
    this.#read();
  }

  async #read() {
    const path = `/contents/${this.contentId}`;
    try {
      const { headers } = await send(path, { method: "HEAD", stream: true });
      const url = await contentUrl(`/api/v1${path}`);
      this.#file = { type: headers.get("Content-Type") ?? "", size: Number(headers.get("Content-Length")), url };
      this.#error = null;
    } catch (error) {
      this.#error = error;
      if (error.status === 0 || error.status >= 500) setTimeout(() => this.isConnected && this.#read(), 3000);
    }
    this.update();
  }

  /** The token in an address is good for some minutes only. */
  #renew() {
    if (this.#again) this.#read();
    this.#again = false;
  }

  content() {
    if (this.#error) return problem(this.#error);
    if (!this.#file) return h("div.placeholder");
    const { type, size, url } = this.#file;
    const kind = type.split("/")[0];
    const shared = { src: url, onerror: () => this.#renew() };
    return h(
      "figure",
      kind === "image" && h("img", { key: kind, alt: this.label, ...shared }),
      ["video", "audio"].includes(kind) && h(kind, { key: kind, controls: true, "aria-label": this.label, ...shared }),
      h("figcaption.faint", h("a", { href: url, target: "_blank", rel: "noopener" }, "Open"), ` ${type}, ${bytes(size)}`),
    );
  }
}
define("media-content", MediaContent, "contentId", "label");

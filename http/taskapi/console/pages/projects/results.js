// What an item has ended with: pictures if there are some, else a line; the whole as a tree.
import { contentUrl } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { writeJson } from "../../core/json.js";
import { View, property } from "../../core/view.js";
import { link } from "../../parts/basics.js";
import { jsonTree } from "../../parts/json-tree.js";

const MOST = 6; // pictures of one item
const LINE = 160; // characters

export function describeResult({ result, error, status }) {
  if (error && status === "failed") return h("p", { class: "bad" }, h("b", null, error.type ?? "Error"), ` ${error.message ?? ""}`);
  if (result === null || status !== "completed") return null;
  const contents = Array.isArray(result?.content_ids) ? result.content_ids.filter((id) => typeof id === "string") : [];
  if (contents.length) return h("div", { class: "pictures" }, contents.slice(0, MOST).map((id) => h("item-picture", { key: id, props: { contentId: id } })));
  const text = writeJson(result);
  return h("details", null, h("summary", null, text.length > LINE ? `${text.slice(0, LINE)}…` : text), jsonTree(result));
}

class ItemPicture extends View {
  #url = null;
  #failed = false;

  async start() {
    try {
      this.#url = await contentUrl(`/contents/${encodeURIComponent(this.contentId)}`);
    } catch {
      this.#failed = true;
    }
    this.update();
  }

  content() {
    if (this.#failed && !this.#url) return h("span", { class: "faint" }, "A result that cannot be read.");
    const fail = () => {
      this.#failed = true;
      this.update();
    };
    return this.#url && link(this.#url, this.#failed ? "A file" : h("img", { src: this.#url, alt: "The result", loading: "lazy", onerror: fail }), { target: "_blank" });
  }
}
property(ItemPicture, "contentId");
customElements.define("item-picture", ItemPicture);

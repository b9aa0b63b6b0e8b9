// The filter bar: "status:dead actor:summarize" opens the list, an id opens the task.
import { h } from "../core/dom.js";
import { goTo } from "../core/router.js";
import { View } from "../core/view.js";

class TaskSearch extends View {
  content() {
    return h(
      "form",
      { class: "search", role: "search", onsubmit: (event) => this.#submit(event) },
      h("input", { name: "q", "aria-label": "Filter tasks", placeholder: "Filter tasks: status:dead actor:summarize, or paste an id", autocomplete: "off" }),
      h("kbd", null, "/"),
    );
  }

  #submit(event) {
    event.preventDefault();
    const text = new FormData(event.target).get("q").trim();
    if (text.startsWith("tq_")) goTo(`/tasks/${encodeURIComponent(text)}`);
    else goTo("/tasks", { q: text });
  }
}
customElements.define("task-search", TaskSearch);

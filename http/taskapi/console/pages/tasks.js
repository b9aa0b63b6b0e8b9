import { h } from "../core/dom.js";
import { View, property } from "../core/view.js";
import { pageHead } from "../parts/basics.js";

class Page extends View {
  content() {
    return pageHead("Tasks");
  }
}
property(Page, "parameters");
customElements.define("tasks-page", Page);

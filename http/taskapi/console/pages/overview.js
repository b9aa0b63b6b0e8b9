import { h } from "../core/dom.js";
import { View, property } from "../core/view.js";
import { pageHead } from "../parts/basics.js";

class Page extends View {
  content() {
    return pageHead("Overview");
  }
}
property(Page, "parameters");
customElements.define("overview-page", Page);

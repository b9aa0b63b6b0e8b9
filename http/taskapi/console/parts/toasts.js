// Short messages about what has just happened; screen readers hear them.
import { h, render } from "../core/dom.js";

const shown = [];
const SECONDS = 6;

/** `link`: {href, text} */
export function toast(text, { tone = "completed", link } = {}) {
  const message = { text, tone, link, key: crypto.randomUUID?.() ?? String(Math.random()) };
  shown.push(message);
  show();
  setTimeout(() => {
    shown.splice(shown.indexOf(message), 1);
    show();
  }, 1000 * SECONDS);
}

function show() {
  let place = document.getElementById("toasts");
  if (!place) {
    place = document.createElement("div");
    place.id = "toasts";
    place.setAttribute("role", "status");
    place.setAttribute("aria-live", "polite");
    document.body.append(place);
  }
  // A modal dialog is above everything else, so messages go into it.
  (document.querySelector("dialog[open]") ?? document.body).append(place);
  render(
    place,
    shown.map(({ key, text, tone, link }) =>
      h("div", { key, class: `toast s-${tone}` }, text, link && [" ", h("a", { href: link.href }, link.text)]),
    ),
  );
}

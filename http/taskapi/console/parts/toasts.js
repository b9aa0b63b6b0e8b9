// Short messages about what has just happened; screen readers hear them.
import { h, render } from "../core.js";

const shown = [];
let count = 0;
const SECONDS = 6;
const SECONDS_OF_ERRORS = 15;

/** `link`: {href, text} */
export function toast(text, { tone = "completed", link } = {}) {
  const close = () => {
    if (shown.includes(message)) shown.splice(shown.indexOf(message), 1);
    show();
  };
  const message = { text, tone, link, close, key: (count += 1) };
  shown.push(message);
  show();
  setTimeout(close, 1000 * (tone === "dead" ? SECONDS_OF_ERRORS : SECONDS));
}

function show() {
  let place = document.getElementById("toasts");
  if (!place) {
    place = Object.assign(document.createElement("div"), { id: "toasts", role: "status", ariaLive: "polite" });
  }
  // A modal dialog is above everything else, so messages go into it.
  (document.querySelector("dialog[open]") ?? document.body).append(place);
  render(
    place,
    shown.map(({ key, text, tone, link, close }) =>
      h(
        "div",
        { key, class: `toast s-${tone}` },
        h("span", text, link && [" ", h("a", { href: link.href }, link.text)]),
        h("button.plain", { type: "button", "aria-label": "Close the message", onclick: close }, "×"),
      ),
    ),
  );
}

// A time relative to now, which goes on by itself; the exact one on hover and for copying.
import { define, elapsed, exactTime, h, relative, View } from "../core.js";

const all = new Set();
setInterval(() => {
  if (!document.hidden) for (const each of all) each.update();
}, 1000);

class MomentText extends View {
  start() {
    all.add(this);
    this.own(() => all.delete(this));
  }

  content() {
    if (!this.at) return "–";
    return h("time", { datetime: this.at, title: exactTime(this.at) }, (this.show ?? relative)(this.at));
  }
}
define("moment-text", MomentText, "at", "show");

/** A moment; show(at) says it in other words. */
export const moment = (at, show) => h("moment-text", { props: { at, show } });

/** How long something has lasted that goes on: "12 s", "3 min 20 s". */
export const since = (at) => moment(at, elapsed);

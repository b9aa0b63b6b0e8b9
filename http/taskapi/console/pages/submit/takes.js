// What work will take: the cost of media, and the rules of the actor.
import { duration, h, join, plural } from "../../core.js";
import { card, facts } from "../../parts.js";

/** `preview`: what the provider has answered, or null. */
export function showTakes({ queue, max_attempts: attempts, time_limit_seconds: limit, max_age_seconds: age, gates, media }, preview) {
  const shown = preview ? gates.filter((gate) => gate === `provider:${preview.provider}`) : gates;
  return card(
    { title: "What it takes", note: media && "as the provider says", key: "takes" },
    media && preview && h("div.preview", { role: "status" }, figures(preview)),
    facts([
      ["Queue", h("code", queue)],
      ["Attempts", `up to ${plural(attempts, "attempt")}, of ${duration(limit)} at most`],
      ["Expires", age && `${duration(age)} after it may start`],
      ["Gates", shown.length > 0 && shown.map((gate) => h("code.gate", gate))],
    ]),
  );
}

function figures({ cost, unit, width, height, count, expected_seconds: seconds }) {
  const said = [
    ["Cost", cost === null ? "known to the provider only" : `${cost} ${unit ?? ""}`],
    ["Takes", seconds === null ? "not known" : `about ${duration(seconds)}`],
    ["Makes", join([count && plural(count, "picture"), width && `${width} × ${height}`])],
  ];
  return said.filter(([, text]) => text).map(([name, text]) => h("div", h("small", name), h("b", text)));
}

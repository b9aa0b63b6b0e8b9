// What is wrong, in one sentence: what, since when, what it costs, what to do. Others wait below it.
import { caller, duration, h, linkTo, plural, secondsSince } from "../../core.js";
import { code, gatePath, link, moment, since } from "../../parts.js";
import { writeQualifier } from "../../parts/task-filter.js";

/** The worst one as a notice, all others on demand. */
export function showTroubles([worst, ...others]) {
  if (!worst) return null;
  const titles = others.slice(0, 3).map(({ title }) => `${title} `);
  return h(
    "div.notice.trouble",
    { key: "trouble", role: "status" },
    sentence(worst),
    others.length > 0 &&
      h(
        "details",
        h("summary", plural(others.length, "more problem"), ": ", titles, others.length > 3 && "…"),
        h("ul", others.map((each) => h("li", { key: each.kind + each.subject }, sentence(each)))),
      ),
  );
}

function sentence(trouble) {
  const { kind, title, detail, advice, since: begun, ends_at: ends } = trouble;
  const [text, href] = whereToLook(trouble);
  return [
    h("b", title),
    " ",
    h("span", begun && ["For ", since(begun), ". "], detail, " ", withCode(advice), ends && [" ", moment(ends, countDown(kind === "breaker-open" ? "The next probe goes out" : "It opens"))]),
    " ",
    link(href, [text, " →"], { class: "do" }),
  ];
}

const countDown = (what) => (at) => (secondsSince(at) < 0 ? `${what} in ${duration(Math.ceil(-secondsSince(at)))}.` : `${what} now.`);

/** `names` between backquotes are code. */
const withCode = (text) => text.split("`").map((part, index) => (index % 2 ? code(part) : part));

/** The text and the address of a link: to a page where it can be mended, or else to the tasks that it holds up. */
function whereToLook({ kind, subject }) {
  const isAtGate = ["breaker-open", "gate-closed"].includes(kind);
  if ((isAtGate || kind === "queue-paused") && caller.may("GET /gates/{key}")) return ["Open the gate", linkTo(gatePath(isAtGate ? subject : `queue:${subject}`))];
  if (["no-worker", "no-maintainer", "stalled"].includes(kind) && caller.may("GET /workers")) return ["Look at the workers", linkTo("/workers")];
  const name = kind === "unknown-actor" ? "actor" : kind.startsWith("queue") && "queue";
  const status = isAtGate || name === "actor" ? "status:waiting" : "status:queued";
  return ["Show the tasks", linkTo("/tasks", { q: name ? `${status} ${writeQualifier(name, subject)}` : status })];
}

// Everything at a glance: what is wrong, where the work is, how fast it goes, what holds it up, and who does it.
import { api, caller, define, h, linkTo, plural, urlOf, View } from "../core.js";
import { card, code, copyButton, empty, linePlot, link, loading, pageHead, problem } from "../parts.js";
import { drawLatency, drawThroughput } from "./overview/plots.js";
import "./overview/queue-list.js";
import { deadLettersCard, gatesCard, workersCard } from "./overview/tables.js";
import "./overview/task-flow.js";
import { showTroubles } from "./overview/troubles.js";

class OverviewPage extends View {
  #now = null; // what the server has answered

  start() {
    this.hear(caller, "change", () => this.update());
    this.again = this.poll(async (signal) => (this.#now = await api.get("/overview", {}, { signal })), 2);
  }

  content() {
    const now = this.#now;
    return [
      pageHead(
        "Overview",
        now && h("span.dim", countPlaces(now)),
        caller.may("POST /tasks") && link(linkTo("/submit"), "Submit a task", { class: "button" }),
      ),
      this.error && problem(this.error),
      now ? [showTroubles(now.troubles), h("div.grid.overview", this.#cards(now))] : !this.error && loading(),
    ];
  }

  #cards(now) {
    const isFresh = [...Object.values(now.states), ...now.history.map(({ created }) => created)].every((count) => !count);
    const plot = (title, note, drawn) => card({ key: title, title, note: `${note}, last hour`, span: 6 }, linePlot(drawn));
    return [
      isFresh && card({ key: "first" }, sayWhatToDo()),
      card({ key: "flow", title: "Where the work is", note: "now, and per minute" }, h("task-flow", { props: { now } })),
      !isFresh && [plot("Throughput", "per minute", drawThroughput(now)), plot("Latency", "on average", drawLatency(now))],
      now.gates && gatesCard(now.gates),
      now.workers && workersCard(now.workers),
      h("queue-list.span-7", { key: "queues", props: { queues: now.queues, again: this.again } }),
      deadLettersCard(now),
    ];
  }
}
define("overview-page", OverviewPage, "parameters");

const countPlaces = ({ workers_alive: alive, places: { threads, coroutines } }) =>
  alive ? `${plural(alive, "worker")} with ${plural(threads + coroutines, "place")}` : "no worker";

function sayWhatToDo() {
  if (!caller.may("POST /tasks")) return empty("Nothing has been submitted yet.", "Tasks appear here as soon as somebody submits one.");
  const curl = `curl ${urlOf("/tasks")} --json '{"actor": "media_generation", "payload": {"prompt": "a red fox in the snow"}}'`;
  return empty("Welcome. Nothing has been submitted yet.", link(linkTo("/submit"), "Submit the first task"), ", or send it from anywhere, and watch it move through the picture below:", h("br"), code(curl), " ", copyButton("Copy", curl));
}

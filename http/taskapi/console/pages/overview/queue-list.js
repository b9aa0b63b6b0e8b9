// The queues: how many tasks each has, how long the oldest waits, and whether it is paused.
import { api, caller, define, duration, h, number, View } from "../../core.js";
import { actionButton, button, card, chip, row, table, toast } from "../../parts.js";

const FEW = 8;
const LATE = 60; // seconds that are worth a color

class QueueList extends View {
  #showsAll = false;

  content() {
    const isShort = this.#showsAll || this.queues.length <= FEW;
    const shown = isShort ? this.queues : this.queues.toSorted((one, other) => isBusy(other) - isBusy(one)).slice(0, FEW);
    const more = this.queues.length - shown.length;
    const showAll = () => {
      this.#showsAll = true;
      this.update();
    };
    return card(
      { title: "Queues", note: "tasks that can start, by lane", class: "compact" },
      table({ "aria-label": "Queues" }, ["Queue", "New", "Retry", "Running", "Oldest", ""], shown.map((each) => this.#row(each))),
      more > 0 && button(`Show ${number(more)} more`, showAll, { class: "more" }),
    );
  }

  #row({ queue, primary, retry, running, oldest_seconds: oldest, paused, consumed }) {
    const count = (value) => h("td", { class: !value && "faint" }, number(value));
    const [verb, label, said] = paused ? ["resume", "Resume", "starts again"] : ["pause", "Pause", "is paused: what runs goes on"];
    const act = async () => {
      await api.post(`/queues/${encodeURIComponent(queue)}/${verb}`);
      toast(`${queue} ${said}.`);
      this.again();
    };
    return row(
      queue,
      [h("b", queue), " ", paused ? chip("paused", "paused") : !consumed && primary + retry > 0 && chip("no worker", "dead")],
      count(primary),
      count(retry),
      count(running),
      h("td", { class: oldest > LATE ? "late" : "dim" }, oldest !== null && duration(oldest)),
      h("td.num", caller.may(`POST /queues/{name}/${verb}`) && actionButton({ key: verb, label, name: `${label} ${queue}`, act })),
    );
  }
}
define("queue-list", QueueList, "queues", "again");

const isBusy = ({ primary, retry, running, paused }) => primary + retry + running > 0 || paused;

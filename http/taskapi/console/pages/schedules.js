// Schedules: when each is due next, what its last task did, and what operators do with them.
import { api, caller, currentAddress, define, h, linkTo, readAll, replaceQuery, View } from "../core.js";
import { actionButton, button, card, code, empty, linkToTask, loading, moment, pageHead, problem, row, status, table, toast } from "../parts.js";
import "./schedules/schedule-details.js";
import { askSchedule } from "./schedules/schedule-form.js";
import { schedulePath, showTick, workOf } from "./schedules/words.js";

const STEP = 100;
const COLUMNS = ["Schedule", "When", "Next runs", "Last task", ""];

class SchedulesPage extends View {
  #all = null;
  #most = STEP;

  start() {
    this.again = this.poll(async (signal) => {
      const all = await readAll("/schedules", { limit: STEP + 1 }, { most: this.#most + 1, signal });
      const id = this.#open;
      const isListed = !id || all.slice(0, this.#most).some((each) => each.schedule_id === id);
      this.#all = isListed ? all : [...(await readOne(id, signal)), ...all]; // a link may name an older one
    }, 2);
    this.hear(window, "hashchange", this.again);
  }

  get #open() {
    return currentAddress().query.get("id");
  }

  content() {
    return [
      pageHead("Schedules", caller.may("POST /schedules") && button("New schedule", () => this.#ask(), { class: "primary" })),
      this.error && problem(this.error),
      this.#all ? card({ class: "schedules" }, this.#list(this.#all)) : !this.error && loading(),
    ];
  }

  #list(all) {
    const showMore = () => {
      this.#most += STEP;
      this.again();
    };
    if (!all.length) return empty("No schedules yet.", "A schedule starts a task again and again, such as each working day at 06:30 in Berlin. Operators create them, or the code declares them.");
    return [
      table({ "aria-label": "Schedules" }, COLUMNS, all.slice(0, this.#most).map((each) => this.#rows(each))),
      all.length > this.#most && button("Show more", showMore, { class: "more" }),
    ];
  }

  #rows(schedule) {
    const { schedule_id: id, name, tenant, timezone: zone, next_at: next, next_ticks: ticks, last_task_id: last, last_error: wrong } = schedule;
    const isOpen = this.#open === id;
    const toggle = () => {
      replaceQuery({ id: isOpen ? null : id });
      this.update();
    };
    return [
      row(
        id,
        [
          h("button.plain", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, name), schedule.paused && [" ", status("paused")],
          h("small", workOf(schedule), tenant && ` · ${tenant}`),
        ],
        [schedule.description, h("small", code(schedule.cron), ` · ${zone}`)],
        next ? [moment(next), h("small.ticks", ticks.slice(0, 3).map((at) => showTick(at, zone)))] : h("span.faint", "none"),
        [
          last ? [status(schedule.last_task_status), " ", linkToTask(last), h("small", moment(schedule.last_task_at))] : h("span.faint", "none yet"),
          wrong && h("small.bad", "The last tick started nothing: ", wrong),
        ],
        h("td.acts", this.#act(schedule, "Run now", "run", `${name} has started a task.`),
          schedule.paused
            ? this.#act(schedule, "Resume", "resume", `${name} goes on with its next tick.`)
            : this.#act(schedule, "Pause", "pause", `${name} is paused: its ticks start nothing.`)),
      ),
      isOpen && row(`${id}-details`, h("td", { colspan: 5 }, h("schedule-details", { props: { schedule } }), h("div.acts", this.#changes(schedule)))),
    ];
  }

  #act(schedule, label, verb, receipt) {
    const act = () => this.#do(api.post(`${schedulePath(schedule)}/${verb}`), receipt);
    return caller.may(`POST /schedules/{schedule_id}/${verb}`) && actionButton({ key: verb, label, name: `${label}: ${schedule.name}`, act });
  }

  #changes(schedule) {
    const { name } = schedule;
    const ask = { title: `Delete ${name}?`, text: "It starts nothing any more. Its tasks and its history stay.", action: "Delete it" };
    const act = () => this.#do(api.delete(schedulePath(schedule)), `${name} is deleted.`);
    return [
      caller.may("PATCH /schedules/{schedule_id}") && button("Change", () => this.#ask(schedule)),
      caller.may("DELETE /schedules/{schedule_id}") && actionButton({ label: "Delete", tone: "danger", ask, act }),
    ];
  }

  async #ask(schedule) {
    const made = await askSchedule(schedule);
    if (made) this.#do(made, `${made.name} is ${schedule ? "changed" : "created"}.`);
  }

  async #do(change, receipt) {
    const task = (await change)?.task_id;
    toast(receipt, { link: task && { href: linkTo(`/tasks/${task}`), text: "Open it" } });
    this.again();
  }
}
define("schedules-page", SchedulesPage, "parameters");

async function readOne(id, signal) {
  try {
    return [await api.get(`/schedules/${encodeURIComponent(id)}`, {}, { signal })];
  } catch (error) {
    if (error.status === 404) return []; // it was deleted
    throw error;
  }
}

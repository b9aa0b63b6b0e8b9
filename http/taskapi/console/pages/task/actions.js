// What can be done with a task: only what its status and the caller's key allow.
import { api, caller, ENDED, goTo, LIVE } from "../../core.js";
import { actionButton, button, copyButton, curlOf, pythonOf, toast } from "../../parts.js";
import { editAndRetry } from "./edit.js";

const canRetry = ({ status, lane }) => status === "dead" || (status === "scheduled" && lane === "retry");
const asked = ({ status }, soon, done) => (status === "running" ? soon : done);

/** Verbs of the API: when they are offered, what is asked before, and the receipt. */
const VERBS = [
  { label: "Retry", verb: "retry", tone: "primary", fits: canRetry, receipt: () => "Queued again." },
  { label: "Resume", verb: "resume", tone: "primary", fits: ({ status }) => status === "paused", receipt: () => "Queued again." },
  {
    label: "Pause",
    verb: "pause",
    fits: ({ status, cancel_requested: stop }) => LIVE.includes(status) && status !== "paused" && !stop,
    receipt: (task) => asked(task, "Its worker has been asked to pause it.", "Paused."),
  },
  {
    label: "Cancel",
    verb: "cancel",
    tone: "danger",
    fits: ({ status, cancel_requested: stop }) => LIVE.includes(status) && stop !== "cancel" && stop !== "force",
    ask: ["Cancel this task?", "It stops and will not run again. Its history is kept.", "Cancel the task"],
    receipt: (task) => asked(task, "Its worker has been asked to stop it.", "Canceled."),
  },
  {
    label: "Force stop",
    verb: "cancel",
    body: { force: true },
    tone: "danger",
    fits: ({ status, cancel_requested: stop }) => status === "running" && stop !== "force",
    ask: [
      "Stop this task by force?",
      "It is canceled. If its code does not stop, its worker process is killed and replaced; other tasks of that process start again.",
      "Force stop",
    ],
    receipt: (task) => asked(task, "Its worker has been told to stop it, by force if it must.", "Canceled."),
  },
  {
    label: "Dismiss",
    verb: "dismiss",
    fits: ({ status }) => status === "dead",
    ask: ["Dismiss this dead letter?", "It is canceled and will not run again. Its history is kept.", "Dismiss"],
    receipt: () => "Dismissed: it is canceled.",
  },
];

/** `take(task)` gets what the server answers. `createdBy`: what creates tasks of this actor, if callers cannot. */
export function showActions(task, take, createdBy) {
  const path = `/tasks/${task.task_id}`;
  const buttons = VERBS.filter(({ verb, fits }) => fits(task) && caller.may(`POST /tasks/{task_id}/${verb}`)).map(
    ({ label, verb, body, tone, ask, receipt }) =>
      makeButton(label, tone, ask, async () => {
        const after = await api.post(`${path}/${verb}`, body);
        take(after);
        toast(receipt(after), { tone: after.status });
      }),
  );
  if (canRetry(task) && !createdBy && caller.may("POST /tasks/{task_id}/retry")) {
    buttons.splice(1, 0, button("Edit and retry", () => editAndRetry(task, take)));
  }
  if (ENDED.includes(task.status) && caller.may("DELETE /tasks/{task_id}")) {
    const ask = ["Remove this task from the lists?", "Nobody sees it any more. Its history is kept for the audit trail.", "Remove"];
    buttons.push(makeButton("Remove", null, ask, () => api.delete(path).then(() => goTo("/tasks"))));
  }
  if (createdBy || !caller.may("POST /tasks")) return buttons;
  const { actor, payload, queue, priority, tenant, target } = task;
  const same = { actor, payload, queue, priority, ...(tenant && { tenant }), ...(target && { target }) };
  const copies = { curl: () => curlOf("POST", "/tasks", same), Python: () => pythonOf("POST", "/tasks", same) };
  return [...buttons, ...Object.entries(copies).map(([name, make]) => copyButton(`Copy as ${name}`, make))];
}

const makeButton = (label, tone, ask, act) =>
  actionButton({ key: label, label, tone, act, ask: ask && { title: ask[0], text: ask[1], action: ask[2] } });

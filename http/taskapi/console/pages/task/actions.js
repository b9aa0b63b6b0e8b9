// What can be done with a task: only what its status and the caller's key allow.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { goTo } from "../../core/router.js";
import { actionButton } from "../../parts/action-button.js";
import { copyButton } from "../../parts/basics.js";
import { curlOf, pythonOf } from "../../parts/curl.js";
import { toast } from "../../parts/toasts.js";
import { editAndRetry } from "./edit.js";

const LIVE = ["scheduled", "queued", "waiting", "running", "paused"];
export const FINISHED = ["completed", "canceled", "dead"];

const isRetry = ({ status, lane }) => status === "dead" || (status === "scheduled" && lane === "retry");

/** Buttons that call a verb of the API: when they are offered, what they ask before, and the receipt. */
const VERBS = [
  { verb: "retry", label: "Retry", tone: "primary", fits: isRetry, receipt: () => "Queued again." },
  { verb: "resume", label: "Resume", tone: "primary", fits: ({ status }) => status === "paused", receipt: () => "Queued again: it goes on from its checkpoint." },
  {
    verb: "pause",
    label: "Pause",
    fits: ({ status, cancel_requested: asked }) => LIVE.includes(status) && status !== "paused" && !asked,
    receipt: ({ status }) => (status === "running" ? "Its worker has been asked to pause it." : "Paused."),
  },
  {
    verb: "cancel",
    label: "Cancel",
    tone: "danger",
    fits: ({ status, cancel_requested: asked }) => LIVE.includes(status) && !["cancel", "force"].includes(asked),
    ask: { title: "Cancel this task?", text: "It stops and will not run again. What it has done so far stays in its history.", action: "Cancel the task" },
    receipt: ({ status }) => (status === "canceled" ? "Canceled." : "Its worker has been asked to stop it."),
  },
  {
    verb: "cancel",
    label: "Force stop",
    tone: "danger",
    body: { force: true },
    fits: ({ status, cancel_requested: asked }) => status === "running" && asked !== "force",
    ask: {
      title: "Stop this task by force?",
      text: "It is canceled. If its code does not stop, its worker process is killed and replaced; other tasks of that process start again.",
      action: "Force stop",
    },
    receipt: ({ status }) => (status === "canceled" ? "Canceled." : "Its worker has been told to stop it, by force if it must."),
  },
  {
    verb: "dismiss",
    label: "Dismiss",
    fits: ({ status }) => status === "dead",
    ask: { title: "Dismiss this dead letter?", text: "It is canceled and will not run again. Its history is kept.", action: "Dismiss" },
    receipt: () => "Dismissed: it is canceled.",
  },
];

/** `take(task)` is called with what the server answers, `drafts` keeps what was typed into the editor. */
export function showActions(task, { take, drafts, createdBy }) {
  const buttons = VERBS.filter(({ verb, fits }) => fits(task) && caller.may(`POST /tasks/{task_id}/${verb}`)).map(
    ({ verb, label, tone, ask, body, receipt }) =>
      actionButton({
        key: label,
        label,
        tone,
        ask,
        act: async () => {
          const after = await api.post(`/tasks/${task.task_id}/${verb}`, body);
          take(after);
          toast(receipt(after), { tone: after.status });
        },
      }),
  );
  if (isRetry(task) && !createdBy && caller.may("POST /tasks/{task_id}/retry")) {
    buttons.splice(1, 0, actionButton({ key: "edit", label: "Edit and retry", act: () => editAndRetry(task, take, drafts) }));
  }
  if (FINISHED.includes(task.status) && caller.may("DELETE /tasks/{task_id}")) buttons.push(removeButton(task));
  if (!createdBy && caller.may("POST /tasks")) {
    buttons.push(copyButton("Copy as curl", () => curlOf("POST", "/tasks", submissionOf(task))));
    buttons.push(copyButton("Copy as Python", () => pythonOf("POST", "/tasks", submissionOf(task))));
  }
  return buttons;
}

const removeButton = (task) =>
  actionButton({
    key: "remove",
    label: "Remove",
    ask: { title: "Remove this task from the lists?", text: "Nobody sees it any more. Its history is kept for the audit trail.", action: "Remove" },
    act: async () => {
      await api.delete(`/tasks/${task.task_id}`);
      toast("Removed.", { tone: "canceled" });
      goTo("/tasks");
    },
  });

/** What submits the same work again. */
function submissionOf({ actor, payload, queue, priority, tenant, target }) {
  const options = Object.entries({ tenant, target }).filter(([, value]) => value !== null);
  return { actor, payload, queue, priority, ...Object.fromEntries(options) };
}

// What can be done about a step: a decision on an approval; dead tasks are retried or given up, and the workflow goes on.
import { api, caller, h, plural, readAll } from "../../core.js";
import { askForm, button, field, toast } from "../../parts.js";
import { countTasks, hasFailed, nameAll, stepPath } from "./steps.js";

export const RETRY = "POST /tasks/{task_id}/retry";
export const DISMISS = "POST /tasks/{task_id}/dismiss";
export const RESUME = "POST /workflows/{workflow_id}/resume";

const PERSON = "callboard-person"; // who has decided in this browser the last time
const AT_ONCE = 8; // requests

export const mayDecide = () => caller.may("POST /workflows/{workflow_id}/steps/{key}/approve");

/** The buttons of an approval that waits; done(workflow) is called with what the server answers. */
export const decisionButtons = (workflow, step, done) =>
  [["approve", "Approve", "primary"], ["reject", "Reject", "danger"]].map(([verb, label, tone]) =>
    button(label, () => decide(verb, label, workflow, step, done), { class: tone }),
  );

async function decide(verb, action, workflow, step, done) {
  const name = caller.name ?? localStorage.getItem(PERSON) ?? "";
  const answer = await askForm({
    title: `${action} ${step.key}?`,
    action,
    fields: () => [
      h("p.dim", verb === "approve" ? sayWhatStarts(workflow, step) : sayWhatFails(workflow, step)),
      field("Who decides", { name: "by", required: true, maxlength: 200, created: (input) => (input.value = name) }),
      h("label", "Why (kept in the history)", h("textarea", { name: "note", maxlength: 2000 })),
    ],
    send: (form) => api.post(`${stepPath(workflow, step)}/${verb}`, { by: form.get("by").trim(), note: form.get("note").trim() || null }),
  });
  if (!answer) return;
  const { decision, decided_by: by } = answer.steps.find(({ key }) => key === step.key);
  if (!caller.name) localStorage.setItem(PERSON, by);
  toast(`${step.key} is ${decision} by ${by}. The workflow is ${answer.status}.`);
  done(answer);
}

function sayWhatStarts({ steps }, { key }) {
  const open = new Set(steps.filter(({ status }) => status !== "completed").map((each) => each.key));
  const next = steps.filter(({ after }) => after.includes(key));
  const ready = next.filter(({ after }) => after.every((each) => each === key || !open.has(each)));
  if (ready.length) return `Then ${nameAll(ready)} can start.`;
  return next.length ? `${nameAll(next)} can start when other steps are completed as well.` : "No step comes after it.";
}

function sayWhatFails({ steps, failure_threshold: most, escalation }, { key }) {
  const ends = 1 + steps.filter(hasFailed).length >= most;
  const end = escalation ? `escalated to ${escalation.to}` : "failed";
  const then = ends ? `is ${end}` : "goes on with what does not depend on it";
  return `${key} has failed then; the workflow ${then}. This cannot be taken back.`;
}

/** Calls a verb for each dead task of the steps, and says what happened. */
export async function actOnDead(workflow, steps, verb) {
  const ids = [];
  for (const step of steps) {
    const dead = await readAll(`${stepPath(workflow, step)}/tasks`, { status: "dead", limit: 500 });
    ids.push(...dead.map((task) => task.task_id));
  }
  let done = 0;
  let refusal = null;
  const next = async () => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      try {
        await api.post(`/tasks/${id}/${verb}`);
        done += 1;
      } catch (error) {
        refusal ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  if (done) toast(`${plural(done, "task")} of ${nameAll(steps)}: ${verb === "retry" ? "runs again" : "given up"}.`);
  if (refusal) throw refusal;
}

export async function resume(workflow) {
  const answer = await api.post(`/workflows/${workflow.workflow_id}/resume`);
  toast(`The workflow is ${answer.status}.`);
  return answer;
}

/** Steps that failed without a dead task cannot be repaired; an approval that has expired is asked again. */
export const findFinal = ({ steps }) => steps.filter((each) => hasFailed(each) && each.status !== "expired" && !countTasks(each).dead);

/** The button that does all that is needed, if there is one. */
export function offerRepair(workflow, done) {
  const dead = workflow.steps.filter((step) => hasFailed(step) && countTasks(step).dead > 0);
  if (findFinal(workflow).length >= workflow.failure_threshold || !caller.may(RESUME) || (dead.length && !caller.may(RETRY))) return null;
  const tasks = dead.reduce((sum, step) => sum + countTasks(step).dead, 0);
  const act = async () => {
    if (tasks) await actOnDead(workflow, dead, "retry");
    done(await resume(workflow));
  };
  return { key: "repair", label: tasks ? `Retry ${plural(tasks, "task")} and resume` : "Resume", tone: "primary", act };
}

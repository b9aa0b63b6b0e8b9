// What a person does with a task that blocks its target.
import { api, caller, linkTo, shortId } from "../../core.js";
import { actionButton, toast } from "../../parts.js";

export const targetPath = (target) => `/targets/${encodeURIComponent(target)}`;

/** Buttons for a task that is dead or paused. `again` is called when something has changed. */
export function showActs({ target, tenant }, { task_id: id, status }, again) {
  const isDead = status === "dead";
  const name = shortId(id);
  const act = (label, tone, text) => {
    const verb = label.toLowerCase();
    return caller.may(`POST /targets/{target}/jobs/{task_id}/${verb}`) && actionButton({
      key: verb,
      label,
      tone,
      name: `${label} ${name} of ${target}`,
      ask: { title: `${label} ${name}?`, text, action: `${label} the task`, danger: Boolean(tone) },
      act: async () => {
        const task = await api.post(`${targetPath(target)}/jobs/${id}/${verb}`, undefined, { query: { tenant } });
        toast(`${name} is ${task.status}.`, { tone: task.status, link: { href: linkTo(`/tasks/${id}`), text: "Open it" } });
        again();
      },
    });
  };
  return (isDead || status === "paused") && [
    act("Resume", null, `It runs ${isDead ? "again, with all its attempts" : "on where it was"}. The other tasks of ${target} still wait for it.`),
    act("Clear", "danger", `It is canceled, and its history is kept. The next task of ${target} may start.`),
  ];
}

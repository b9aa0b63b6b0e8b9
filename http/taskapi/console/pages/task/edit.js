// Retry with an edited payload: the editor shows what the actor says about a field at its place.
import { api, h, writeJson } from "../../core.js";
import { askForm, linkToTask, toast } from "../../parts.js";
import "../../parts/json-editor.js";

const drafts = new Map(); // what was typed and not sent, by task: a dialog that was closed by mistake loses nothing

export async function editAndRetry({ task_id: id, actor, payload }, take) {
  let editor;
  const after = await askForm({
    title: `Edit the payload of ${actor} and retry`,
    action: "Retry with this payload",
    wide: true,
    fields: (error) => [
      h("p.dim", "The task starts over with this payload. The original stays in its history."),
      h("json-editor", {
        created: (element) => (editor = element),
        props: { text: drafts.get(id) ?? writeJson(payload, 2), label: "Payload" },
        onchange: () => drafts.set(id, editor.value),
      }),
      error?.problem?.holder && h("p", "Held by ", linkToTask(error.problem.holder)),
    ],
    send: () => {
      const edited = editor.read();
      return edited === undefined ? undefined : api.post(`/tasks/${id}/retry`, { payload: edited });
    },
    place: ({ field, message }) => {
      if (field) editor.refuse(field.replace(/^payload(\.|$)/, ""), message.replace(`${field}: `, ""));
      return field;
    },
  });
  if (!after) return;
  drafts.delete(id);
  take(after);
  toast("Queued again with the edited payload.", { tone: after.status });
}

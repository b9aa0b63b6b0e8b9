// Retry with an edited payload: the editor shows what the actor says about a field at its place.
import { api } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { writeJson } from "../../core/json.js";
import { showDialog } from "../../parts/dialogs.js";
import "../../parts/json-editor.js";
import { toast } from "../../parts/toasts.js";
import { linkToTask } from "./waiting.js";

const drafts = new Map(); // what was typed and not sent, by task: a dialog that was closed by mistake loses nothing

export async function editAndRetry({ task_id: id, actor, payload }, take) {
  let editor, error;
  let busy = false;
  const after = await showDialog({
    title: `Edit the payload of ${actor} and retry`,
    wide: true,
    content: ({ close, update }) => [
      h("p", { class: "dialog-text" }, "The task starts over with this payload. The original stays in its history."),
      h("json-editor", {
        key: "editor",
        created: (element) => (editor = element),
        props: { text: drafts.get(id) ?? writeJson(payload, 2), label: "Payload" },
        onchange: () => drafts.set(id, editor.value),
      }),
      error && h("p", { class: "field-error", role: "alert", key: "error" }, error.message, error.problem.holder && [" ", linkToTask(error.problem.holder)]),
      h(
        "div",
        { class: "dialog-acts" },
        h("button", { type: "button", onclick: () => close(null) }, "Back"),
        h("button", { type: "button", class: "primary", disabled: busy, onclick: () => run(close, update) }, busy ? "Processing…" : "Retry with this payload"),
      ),
    ],
  });
  if (!after) return;
  drafts.delete(id);
  take(after);
  toast("Queued again with the edited payload.", { tone: after.status });

  async function run(close, update) {
    const edited = editor.read();
    if (edited === undefined || busy) return;
    [busy, error] = [true, null];
    update();
    try {
      close(await api.post(`/tasks/${id}/retry`, { payload: edited }));
    } catch (refused) {
      const { field, message } = refused;
      busy = false;
      if (field) editor.refuse(field.replace(/^payload(\.|$)/, ""), message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message);
      else error = refused;
      update();
    }
  }
}

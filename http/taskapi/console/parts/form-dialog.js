// A dialog with a form that is sent to the server. What the server refuses is shown in it, and nothing typed is lost.
import { h } from "../core.js";
import { problem } from "./basics.js";
import { showDialog } from "./dialogs.js";
import { dialogActs, submitButton } from "./fields.js";

/** fields(error) returns the content of the form. send(FormData, form) sends it; its value is that of the promise, and
 *  undefined keeps the dialog open. place(error) shows an error itself, if it returns true. null: the user has closed it. */
export function askForm({ title, fields, action, send, place = () => false, wide = false }) {
  let busy = false;
  let error = null;
  const submit = (close, update) => async (event) => {
    event.preventDefault();
    if (busy) return;
    const form = event.target;
    const data = new FormData(form);
    [busy, error] = [true, null];
    update();
    try {
      const value = await send(data, form);
      if (value !== undefined) close(value);
    } catch (refused) {
      if (!place(refused)) error = refused;
    }
    busy = false;
    update();
  };
  const content = ({ close, update }) =>
    h(
      "form.form",
      { onsubmit: submit(close, update) },
      fields(error),
      error && problem(error),
      dialogActs(close, submitButton(action, busy)),
    );
  return showDialog({ title, wide, content });
}

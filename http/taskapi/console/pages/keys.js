// API keys: who may use the server. The secret of a new one is shown once.
import { api, readAll } from "../core/api.js";
import { caller } from "../core/caller.js";
import { h } from "../core/dom.js";
import { number, plural, shortId } from "../core/format.js";
import { key as own } from "../core/key.js";
import { View, property } from "../core/view.js";
import { actionButton } from "../parts/action-button.js";
import { card, chip, code, copyButton, empty, loading, pageHead, problem, row, table } from "../parts/basics.js";
import { showDialog } from "../parts/dialogs.js";
import { askForm } from "../parts/form-dialog.js";
import { moment } from "../parts/moment-text.js";
import { toast } from "../parts/toasts.js";

const ROLES = { operator: "does everything", submitter: "gives work, and stops it", reader: "only looks" };
const COLUMNS = ["Name", "Role", "Tenant", "Requests a minute", "Created", "Last use", ""];

class KeysPage extends View {
  #keys = null;
  #most = 100;
  #error = null;
  #again = () => {};

  start() {
    this.#again = this.poll(async (signal) => {
      try {
        [this.#keys, this.#error] = [await readAll("/keys", { limit: 100 }, { most: this.#most + 1, signal }), null];
      } catch (error) {
        if (error.status) this.#error = error;
        this.update();
        throw error;
      }
    }, 5);
  }

  content() {
    const shown = this.#keys?.slice(0, this.#most) ?? [];
    const valid = shown.filter((each) => !each.revoked_at);
    const revoked = shown.filter((each) => each.revoked_at);
    const more = () => {
      this.#most += 500;
      this.#again();
    };
    return [
      pageHead("Keys", caller.may("POST /keys") && h("button", { type: "button", class: "primary", onclick: () => this.#create() }, "New key")),
      this.#error && problem(this.#error),
      this.#keys
        ? [
            card(
              { key: "valid", title: "Valid", note: plural(valid.length, "key") },
              valid.length ? this.#list("Valid keys", valid) : empty("No keys yet.", "This server answers programs of its own machine, and asks for no key. With the first key, it asks everybody for one."),
            ),
            revoked.length > 0 && card({ key: "revoked", title: "Revoked", class: "below" }, this.#list("Revoked keys", revoked)),
            this.#keys.length > this.#most && h("button", { type: "button", class: "more", onclick: more }, "Show older ones"),
          ]
        : !this.#error && loading(),
    ];
  }

  #list(label, keys) {
    return table({ "aria-label": label, class: "keys" }, COLUMNS, keys.map((each) => this.#row(each)));
  }

  #row(each) {
    const { key_id: id, name, role, tenant, rate_limit: rate, created_at: at, created_by: by, last_used_at: used } = each;
    return row(
      id,
      [h("b", null, name), " ", isOwn(each) && chip("in use here", "running"), h("div", { class: "faint" }, code(shortId(id)))],
      h("span", { title: ROLES[role] }, role),
      tenant ?? h("span", { class: "faint" }, "all"),
      rate === null ? h("span", { class: "faint" }, "any number") : number(rate),
      [moment(at), by && h("div", { class: "faint" }, "by ", by)],
      used ? moment(used) : h("span", { class: "faint" }, "never"),
      each.revoked_at
        ? ["revoked ", moment(each.revoked_at), each.revoked_by && h("div", { class: "faint" }, "by ", each.revoked_by)]
        : caller.may("DELETE /keys/{key_id}") && this.#revoke(each),
    );
  }

  #revoke(each) {
    const { key_id: id, name, last_used_at: used } = each;
    return actionButton({
      label: "Revoke",
      name: `Revoke ${name}`,
      tone: "danger",
      ask: {
        title: `Revoke the key ${name}?`,
        action: "Revoke",
        text: [
          h("p", null, "Whoever uses it is refused from now on; its open streams end. Work that it has given goes on. This cannot be undone."),
          used && h("p", null, "It was last used ", moment(used), "."),
          isOwn(each) && h("p", { class: "field-error" }, "It is the key of this page, which will ask for another one."),
        ],
      },
      act: async () => {
        await api.delete(`/keys/${id}`);
        toast(`${name} is revoked.`);
        this.#again();
      },
    });
  }

  async #create() {
    const isFirst = !this.#keys?.length;
    const made = await askForm({ title: "New key", action: "Create", fields: () => fields(isFirst), send: (form) => api.post("/keys", read(form)) });
    if (!made) return;
    this.#again();
    await showDialog({ title: `The key ${made.name}`, content: ({ close }) => secret(made, isFirst, close) });
  }
}
property(KeysPage, "parameters");
customElements.define("keys-page", KeysPage);

const isOwn = ({ key_id: id }) => own.text?.slice(4, 36) === id.slice(3);

const text = (label, name, more) => h("label", null, label, h("input", { name, maxlength: 200, autocomplete: "off", ...more }));

const fields = (isFirst) => [
  isFirst && h("p", { class: "dim" }, "From the first key on, everybody is asked for one, this page as well: give it the role operator and no tenant."),
  text("Name: who uses it", "name", { required: true }),
  h("label", null, "Role", h("select", { name: "role" }, Object.entries(ROLES).map(([role, does]) =>
    h("option", { value: role, selected: role === (isFirst ? "operator" : "submitter") }, `${role}: ${does}`)))),
  text("Tenant, if it may see only this one", "tenant"),
  text("Requests a minute, at each server; empty: any number", "rate_limit", { type: "number", min: 1, max: 1e6 }),
];

const read = (form) => ({
  name: form.get("name").trim(),
  role: form.get("role"),
  tenant: form.get("tenant").trim() || null,
  rate_limit: Number(form.get("rate_limit")) || null,
});

const secret = (made, isFirst, close) => {
  const use = () => {
    own.use(made.key, { remember: false });
    close();
  };
  return [
    h("div", { class: "dialog-text" }, h("p", null, "Copy it now: nobody can read it later."), code(made.key, { class: "secret" })),
    h(
      "div",
      { class: "dialog-acts" },
      copyButton("Copy", made.key),
      isFirst && h("button", { type: "button", onclick: use }, "Use it here"),
      h("button", { type: "button", class: "primary", onclick: () => close() }, "I have kept it"),
    ),
  ];
};

// API keys: who may use the server. The secret of a new one is shown once.
import { api, caller, define, h, key as own, number, plural, readAll, shortId, View } from "../core.js";
import {
  actionButton, askForm, button, card, chip, code, copyButton, empty, field, loading, moment, moreButton, pageHead, problem,
  row, select, showDialog, table, toast,
} from "../parts.js";

const ROLES = { operator: "does everything", submitter: "gives work, and stops it", reader: "only looks" };
const COLUMNS = ["Name", "Role", "Tenant", "Requests a minute", "Created", "Last use", ""];
const faint = (...text) => h("span.faint", ...text);

class KeysPage extends View {
  #keys = null;
  #most = 100;

  start() {
    this.again = this.poll(async (signal) => {
      this.#keys = await readAll("/keys", { limit: 100 }, { most: this.#most + 1, signal });
    }, 5);
  }

  content() {
    const shown = this.#keys?.slice(0, this.#most) ?? [];
    const [valid, revoked] = [false, true].map((is) => shown.filter((each) => Boolean(each.revoked_at) === is));
    const more = () => {
      this.#most += 500;
      this.again();
    };
    return [
      pageHead("Keys", caller.may("POST /keys") && button("New key", () => this.#create(), { class: "primary" })),
      this.error && problem(this.error),
      this.#keys
        ? [
            card(
              { key: "valid", title: "Valid", note: plural(valid.length, "key") },
              valid.length ? this.#list("Valid keys", valid) : empty("No keys yet.", "This server answers programs of its own machine, and asks for no key. With the first key, it asks everybody for one."),
            ),
            revoked.length > 0 && card({ key: "revoked", title: "Revoked", class: "below" }, this.#list("Revoked keys", revoked)),
            this.#keys.length > this.#most && moreButton(more, "Show older ones"),
          ]
        : !this.error && loading(),
    ];
  }

  #list(label, keys) {
    return table({ "aria-label": label, class: "keys" }, COLUMNS, keys.map((each) => this.#row(each)));
  }

  #row(each) {
    const { key_id: id, name, role, tenant, rate_limit: rate, last_used_at: used } = each;
    const happened = (at, by) => [moment(at), by && h("div.faint", "by ", by)];
    return row(
      id,
      [h("b", name), " ", isOwn(each) && chip("in use here", "running"), h("div.faint", code(shortId(id)))],
      h("span", { title: ROLES[role] }, role),
      tenant ?? faint("all"),
      rate === null ? faint("any number") : number(rate),
      happened(each.created_at, each.created_by),
      used ? moment(used) : faint("never"),
      each.revoked_at
        ? ["revoked ", happened(each.revoked_at, each.revoked_by)]
        : caller.may("DELETE /keys/{key_id}") && this.#revoke(each),
    );
  }

  #revoke(each) {
    const { key_id: id, name, last_used_at: used } = each;
    const text = [
      h("p", "Whoever uses it is refused from now on; its open streams end. Work that it has given goes on. This cannot be undone."),
      used && h("p", "It was last used ", moment(used), "."),
      isOwn(each) && h("p.field-error", "It is the key of this page, which will ask for another one."),
    ];
    const act = async () => {
      await api.delete(`/keys/${id}`);
      toast(`${name} is revoked.`);
      this.again();
    };
    const ask = { title: `Revoke the key ${name}?`, action: "Revoke", text };
    return actionButton({ label: "Revoke", name: `Revoke ${name}`, tone: "danger", ask, act });
  }

  async #create() {
    const isFirst = !this.#keys?.length;
    const made = await askForm({ title: "New key", action: "Create", fields: () => fields(isFirst), send: (form) => api.post("/keys", read(form)) });
    if (!made) return;
    this.again();
    await showDialog({ title: `The key ${made.name}`, content: ({ close }) => secret(made, isFirst, close) });
  }
}
define("keys-page", KeysPage);

const isOwn = ({ key_id: id }) => own.text?.slice(4, 36) === id.slice(3);

const fields = (isFirst) => [
  isFirst && h("p.dim", "From the first key on, everybody is asked for one, this page as well: give it the role operator and no tenant."),
  field("Name: who uses it", { name: "name", maxlength: 200, required: true }),
  h(
    "label",
    "Role",
    select(
      { name: "role", created: (element) => (element.value = isFirst ? "operator" : "submitter") },
      Object.entries(ROLES).map(([role, does]) => [role, `${role}: ${does}`]),
    ),
  ),
  field("Tenant, if it may see only this one", { name: "tenant", maxlength: 200 }),
  field("Requests a minute, at each server; empty: any number", { name: "rate_limit", type: "number", min: 1, max: 1e6 }),
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
    h("div.dialog-text", h("p", "Copy it now: nobody can read it later."), code(made.key, { class: "secret" })),
    h(
      "div.dialog-acts",
      copyButton("Copy", made.key),
      isFirst && button("Use it here", use),
      button("I have kept it", () => close(), { class: "primary" }),
    ),
  ];
};

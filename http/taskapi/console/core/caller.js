// What the caller may do. The server decides; the page only hides what would be refused.
import { api } from "./api.js";

class CallerRights extends EventTarget {
  role = null;
  tenant = null;
  name = null;
  commands = false;
  #operations = new Set();

  async read() {
    const { role, tenant, name, commands, operations } = await api.get("/caller");
    Object.assign(this, { role, tenant, name, commands });
    this.#operations = new Set(operations);
    this.dispatchEvent(new Event("change"));
  }

  /** Whether an operation, named as in the OpenAPI document ("POST /tasks/{task_id}/cancel"), would be allowed. */
  may(operation) {
    const [method, path] = operation.split(" ");
    return this.#operations.has(`${method} /api/v1${path}`);
  }

  hasRole(role) {
    const roles = ["reader", "submitter", "operator"];
    return roles.indexOf(this.role) >= roles.indexOf(role);
  }

  /** Whether an actor or an agent, as the server lists it, may be given work. */
  mayGive({ role }) {
    return this.hasRole(role) && (role !== "operator" || this.commands);
  }
}

export const caller = new CallerRights();

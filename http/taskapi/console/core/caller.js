// What the caller may do. The server decides; the page only hides what would be refused.
import { api } from "./api.js";

class CallerRights extends EventTarget {
  role = null;
  tenant = null;
  name = null;
  #operations = new Set();

  async read() {
    const { role, tenant, name, operations } = await api.get("/caller");
    Object.assign(this, { role, tenant, name });
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
}

export const caller = new CallerRights();

// The form of an item: an agent, a title, a priority, and the agent's input as JSON.
import { api } from "../../core/api.js";
import { caller } from "../../core/caller.js";
import { h } from "../../core/dom.js";
import { writeJson } from "../../core/json.js";
import { askForm } from "../../parts/form-dialog.js";
import "../../parts/json-editor.js";
import { PRIORITIES, itemPath, projectPath } from "./queue.js";

/** Adds an item to a project, or changes one that is pending. Returns it; null if nothing was done. */
export async function editItem(project, item) {
  const { items: all } = await api.get("/agents");
  const agents = all.filter((each) => caller.mayGive(each) || nameOf(each) === (item && nameOf(item)));
  let agent = item ? agents.find((each) => nameOf(each) === nameOf(item)) : agents[0];
  let editor = null;
  return askForm({
    title: item ? `Change ${item.title}` : "Add an item",
    action: item ? "Save" : "Add",
    wide: true,
    fields: (error) => {
      if (error?.field?.startsWith("input")) editor.refuse(error.field.replace(/^input\.?/, ""), error.message);
      const invalid = (name) => error?.field === name && "true";
      return [
        h("label", null, "Title", h("input", { name: "title", value: item?.title, required: true, maxlength: 500, autocomplete: "off", "aria-invalid": invalid("title") })),
        h(
          "label",
          null,
          "Agent",
          h("select", { name: "agent", "aria-invalid": invalid("agent_name"), onchange: (event) => choose(event.target.value) },
            agents.map((each) => h("option", { key: nameOf(each), value: nameOf(each), selected: each === agent }, nameOf(each))),
          ),
        ),
        h("p", { class: "dim" }, agent?.description),
        h(
          "label",
          null,
          "Priority",
          h("select", { name: "priority", "aria-invalid": invalid("priority") },
            h("option", { value: "" }, `as the agent has it: ${PRIORITIES[agent?.priority ?? 2]}`),
            PRIORITIES.map((name, number) => (number || caller.hasRole("operator")) && h("option", { key: name, value: number, selected: item?.priority === number }, name)),
          ),
        ),
        h("div", { class: "label" }, "Input", h("json-editor", {
          props: { text: item ? writeJson(item.input, 2) : exampleOf(agent?.input_schema), label: "Input" },
          created: (element) => (editor = element),
        })),
      ];
    },
    send: async (form) => {
      const input = editor.read();
      if (input === undefined) return undefined;
      const priority = form.get("priority");
      const body = {
        title: form.get("title").trim(),
        agent_name: agent.agent_name,
        task_type: agent.task_type,
        input,
        priority: priority === "" ? null : Number(priority),
      };
      return item ? api.patch(itemPath(item), body) : api.post(`${projectPath(project.project_id)}/items`, body);
    },
  });

  function choose(name) {
    agent = agents.find((each) => nameOf(each) === name);
    editor.text = exampleOf(agent.input_schema); // what was typed stays
  }
}

const nameOf = ({ agent_name, task_type }) => `${agent_name} · ${task_type}`;

/** An input with what the schema requires, to be filled in. */
function exampleOf(schema) {
  if (!schema) return "{}";
  const blank = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {}, null: null };
  const required = schema.required ?? [];
  return writeJson(Object.fromEntries(required.map((name) => {
    const field = schema.properties?.[name] ?? {};
    return [name, field.default ?? field.examples?.[0] ?? blank[field.type] ?? null];
  })), 2);
}

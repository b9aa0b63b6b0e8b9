// The form of an item: an agent, a title, a priority, and the agent's input as JSON.
import { api, caller, h, writeJson } from "../../core.js";
import { askForm } from "../../parts.js";
import "../../parts/json-editor.js";
import { PRIORITIES, projectPath } from "./queue.js";

const BLANK = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} };

/** Adds an item to a project. What was typed stays until the server has taken it. */
export async function addItem(project, { again }) {
  const agents = (await api.get("/agents")).items.filter((each) => caller.mayGive(each));
  let agent = agents[0];
  let editor = null;
  const label = (text, ...field) => h("label", text, ...field);
  await askForm({
    title: "Add an item",
    action: "Add",
    wide: true,
    fields: (error) => {
      if (error?.field?.startsWith("input")) editor.refuse(error.field.replace(/^input\.?/, ""), error.message);
      const choose = (event) => {
        agent = agents[event.target.value];
        editor.text = writeExample(agent.input_schema);
      };
      return [
        label("Title", h("input", { name: "title", required: true, maxlength: 500, autocomplete: "off" })),
        label("Agent", h("select", { onchange: choose }, agents.map((each, index) => h("option", { value: index }, `${each.agent_name} · ${each.task_type}`)))),
        label(
          "Priority",
          h("select", { name: "priority" }, h("option", { value: "" }, "that of the agent"), PRIORITIES.map((name) => (name !== "critical" || caller.hasRole("operator")) && h("option", { value: name }, name))),
        ),
        h("div", h("json-editor", { props: { text: writeExample(agent.input_schema), label: "Input" }, created: (element) => (editor = element) })),
      ];
    },
    send: (form) => {
      const input = editor.read();
      const { agent_name, task_type } = agent;
      const item = { title: form.get("title"), agent_name, task_type, input, priority: form.get("priority") || null };
      return input === undefined ? undefined : api.post(`${projectPath(project.project_id)}/items`, item);
    },
  });
  again();
}

/** What the schema of an input requires, to be filled in. */
function writeExample({ required = [], properties = {} }) {
  return writeJson(Object.fromEntries(required.map((name) => [name, properties[name]?.default ?? BLANK[properties[name]?.type] ?? null])), 2);
}

// The form of an item: an agent, a title, a priority, and the agent's input as JSON.
import { api, caller, h, writeJson } from "../../core.js";
import { askForm, field, select } from "../../parts.js";
import "../../parts/json-editor.js";
import { PRIORITIES } from "../../parts/work.js";
import { projectPath } from "./queue.js";

const BLANK = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} };

/** Adds an item to a project. What was typed stays until the server has taken it. */
export async function addItem(project, { again }) {
  const agents = (await api.get("/agents")).items.filter((each) => caller.mayGive(each));
  if (!agents.length) throw new Error("There is no agent that you may give work.");
  let agent = agents[0];
  let editor = null;
  const choose = (event) => {
    agent = agents[event.target.value];
    editor.text = writeExample(agent.input_schema);
  };
  const priorities = PRIORITIES.filter((name) => name !== "critical" || caller.hasRole("operator")).map((name) => [name]);
  await askForm({
    title: "Add an item",
    action: "Add",
    wide: true,
    fields: () => [
      field("Title", { name: "title", required: true, maxlength: 500 }),
      h("label", "Agent", select({ onchange: choose }, agents.map((each, index) => [index, `${each.agent_name} · ${each.task_type}`]))),
      h("label", "Priority", select({ name: "priority" }, [["", "that of the agent"], ...priorities])),
      h("div", h("json-editor", { props: { text: writeExample(agent.input_schema), label: "Input" }, created: (element) => (editor = element) })),
    ],
    place: ({ field: name, message }) => {
      if (!name?.startsWith("input")) return false;
      editor.refuse(name.replace(/^input\.?/, ""), message.replace(`${name}: `, ""));
      return true;
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

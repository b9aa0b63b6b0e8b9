// What work there is: actors, and the task types of agents, each with the schema of a form for its payload.
import { api, caller, h } from "../core.js";

/** Reads all work that the caller may submit: [{id, title, group, actor, description, schema, ...}] */
export async function readWork(signal) {
  const [actors, agents, providers] = await Promise.all(
    ["/actors", "/agents", "/providers"].map((path) => api.get(path, {}, { signal }).then((page) => page.items)),
  );
  const allowed = (each) => caller.mayGive(each) && !each.created_by;
  const media = providers.filter((each) => each.kind === "media");
  const ofAgents = actors.find((each) => each.name === "agent");
  const work = actors
    .filter((each) => allowed(each) && each !== ofAgents)
    .map((each) => ({ ...each, id: each.name, title: each.name, actor: each.name, group: "Actors", fixed: {}, media: null }));
  for (const each of work) if ("action_type" in each.payload_schema.properties) each.media = media;
  if (!ofAgents) return work;
  return work.concat(
    agents.filter(allowed).map((each) => ({
      ...ofAgents,
      ...each,
      id: `agent:${each.agent_name}/${each.task_type}`,
      title: `${each.agent_name} · ${each.task_type}`,
      actor: "agent",
      group: "Agents",
      fixed: { agent_name: each.agent_name, task_type: each.task_type },
      payload_schema: wrapInput(each),
    })),
  );
}

/** The priorities of tasks, the first one first. */
export const PRIORITIES = ["critical", "high", "medium", "low"];

/** Which of them a payload belongs to. */
export const findWork = (work, actor, payload) =>
  work.find((each) => each.actor === actor && Object.entries(each.fixed).every(([name, value]) => payload?.[name] === value));

/** The schema for what is in the form now: the parameters of media depend on the provider and its action. */
export function schemaOf(work, payload) {
  const schema = work.payload_schema;
  if (!work.media) return schema;
  const name = payload?.provider ?? schema.properties.provider.default;
  const actions = work.media.find((each) => each.name === name)?.actions ?? {};
  const action = actions[payload?.action_type ?? schema.properties.action_type.default];
  const missing = work.media.filter((each) => !each.available).map((each) => `${each.name} needs ${each.missing}`);
  const { provider, action_type: type, prompt, params, source_data: source, ...others } = schema.properties;
  const properties = {
    provider: { ...provider, enum: work.media.filter((each) => each.available || each.name === name).map((each) => each.name), description: missing.join(" · ") },
    action_type: { ...type, enum: Object.keys(actions) },
    ...(!action || action.needs_prompt ? { prompt } : {}),
    ...(!action || action.needs_source ? { source_data: source } : {}),
    params: action ? { ...action.params, title: "Params" } : params,
    ...others,
  };
  const required = ["params", ...(schema.required ?? [])];
  return { ...schema, properties, required, $defs: { ...schema.$defs, ...action?.params.$defs } };
}

function wrapInput({ agent_name: agent, task_type: type, input_schema: input }) {
  const { $defs, ...schema } = input;
  const properties = { agent_name: { const: agent }, task_type: { const: type }, input: { ...schema, title: "Input" } };
  return { type: "object", properties, required: ["agent_name", "task_type", "input"], $defs };
}

/** A select of work. `attributes` are those of the select. */
export function workSelect(work, chosen, attributes) {
  return h(
    "select",
    { ...attributes, value: chosen?.id ?? "" },
    !chosen && h("option", { value: "" }, "Choose…"),
    [...Map.groupBy(work, ({ group }) => group)].map(([label, members]) =>
      h("optgroup", { label }, members.map(({ id, title }) => h("option", { value: id }, title))),
    ),
  );
}

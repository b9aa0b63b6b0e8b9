// All pages: their addresses, their files, and what one must be allowed to do to see them.

const WORK = "Work";
const SYSTEM = "System";

/** `needs`: an operation; the page is not offered to callers who may not use it. `group`: its place in the navigation. `early`:
 *  the page begins to read before it is known what the caller may do. */
export const PAGES = [
  { path: "/", tag: "overview-page", file: "overview", title: "Overview", group: "", early: true },
  { path: "/tasks", tag: "tasks-page", file: "tasks", title: "Tasks", group: "" },
  { path: "/tasks/:id", tag: "task-page", file: "task", title: "Task", within: "/tasks" },
  { path: "/dead-letters", tag: "dead-letters-page", file: "dead-letters", title: "Dead letters", group: "" },
  { path: "/submit", tag: "submit-page", file: "submit", title: "Submit", group: "", needs: "POST /tasks" },
  { path: "/projects", tag: "projects-page", file: "projects", title: "Projects", group: WORK },
  { path: "/projects/:id", tag: "project-page", file: "project", title: "Project", within: "/projects" },
  { path: "/workflows", tag: "workflows-page", file: "workflows", title: "Workflows", group: WORK },
  { path: "/workflows/:id", tag: "workflow-page", file: "workflow", title: "Workflow", within: "/workflows" },
  { path: "/agents", tag: "agents-page", file: "agents", title: "Agents", group: WORK },
  { path: "/schedules", tag: "schedules-page", file: "schedules", title: "Schedules", group: WORK },
  { path: "/gates", tag: "gates-page", file: "gates", title: "Gates", group: SYSTEM, needs: "GET /gates" },
  { path: "/gates/:key*", tag: "gate-page", file: "gate", title: "Gate", within: "/gates", needs: "GET /gates" },
  { path: "/targets", tag: "targets-page", file: "targets", title: "Targets", group: SYSTEM },
  { path: "/workers", tag: "workers-page", file: "workers", title: "Workers", group: SYSTEM, needs: "GET /workers" },
  { path: "/keys", tag: "keys-page", file: "keys", title: "Keys", group: SYSTEM, needs: "GET /keys" },
];

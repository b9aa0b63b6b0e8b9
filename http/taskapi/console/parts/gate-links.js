// Links to what is in many places. The key of a gate may have any characters: as one segment of an address, none has a meaning.
import { caller, linkTo, shortId } from "../core.js";
import { code, link } from "./basics.js";

/** The path of a gate, of its page and in the API. */
export const gatePath = (key) => `/gates/${encodeURIComponent(key)}`;

/** The key of a gate, as a link for callers who may look at it. */
export const showGate = (key) => (caller.may("GET /gates/{key}") ? link(linkTo(gatePath(key)), code(key)) : code(key));

export const linkToTask = (id) => link(linkTo(`/tasks/${id}`), code(shortId(id)), { title: id });

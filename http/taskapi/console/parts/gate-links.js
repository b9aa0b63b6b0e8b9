// Where a gate is found. Its key may have any characters: as one segment, none of them has a meaning in an address.
import { caller } from "../core/caller.js";
import { linkTo } from "../core/router.js";
import { code, link } from "./basics.js";

/** The path of a gate, of its page and in the API. */
export const gatePath = (key) => `/gates/${encodeURIComponent(key)}`;

/** The key of a gate, as a link for callers who may look at it. */
export const showGate = (key) => (caller.may("GET /gates/{key}") ? link(linkTo(gatePath(key)), code(key)) : code(key));

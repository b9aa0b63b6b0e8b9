// Follows a stream of server-sent events with the caller's key, which EventSource could not send. Goes on after the last
// event when the connection is lost, and lets go of it while the page is hidden: a browser has six for each server.
import { ApiError, send } from "./api.js";
import { parseJson } from "./json.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;

/** Calls onEvent(kind, data, id) for each event. `after`: the number of the last event known; without it, the stream
 *  begins with a snapshot. onEnd() is called when there is nothing more to come, onError(error) if the server refuses.
 *  Returns a function that stops it. */
export function follow(path, { after = null, onEvent, onEnd = () => {}, onError = () => {} }) {
  let last = after;
  let controller = null;
  let timer = null;
  let wait = FIRST_WAIT;
  let ended = false;

  async function open() {
    clearTimeout(timer);
    if (ended || controller || document.hidden) return;
    const own = (controller = new AbortController());
    try {
      const headers = last === null ? {} : { "Last-Event-ID": String(last) };
      const response = await send(path, { headers, signal: own.signal, stream: true });
      if (response === null || response.status === 204) return finish(onEnd);
      for await (const event of readEvents(response.body)) {
        wait = FIRST_WAIT;
        if (event.id !== null) last = event.id;
        onEvent(event.kind, event.data, event.id);
        if (event.kind === "done") return finish(onEnd);
      }
    } catch (error) {
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
        finish(() => onError(error));
        return;
      }
    } finally {
      if (controller === own) controller = null;
    }
    if (ended || document.hidden) return;
    timer = setTimeout(open, wait);
    wait = Math.min(LONGEST_WAIT, wait * 2);
  }

  function finish(tell) {
    stop();
    tell();
  }

  function change() {
    if (document.hidden) controller?.abort();
    else open();
  }

  document.addEventListener("visibilitychange", change);
  open();
  return stop;

  function stop() {
    ended = true;
    clearTimeout(timer);
    controller?.abort();
    document.removeEventListener("visibilitychange", change);
  }
}

async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}

function parseEvent(block) {
  const event = { kind: "message", id: null, data: null };
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event.kind = value;
    else if (name === "id") event.id = value;
    else if (name === "data") data.push(value);
  }
  if (!data.length) return null; // a comment, or `retry`
  event.data = parseJson(data.join("\n"));
  return event;
}

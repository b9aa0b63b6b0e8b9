// Repeats a read while the page is visible; slower while the server cannot be reached.
import { ApiError } from "./api.js";

const SLOWEST = 10;

/** Calls read(signal) now and then every `seconds` after it has ended. again() calls it at once. */
export function poll(read, seconds) {
  let timer = null;
  let ended = false;
  let failures = 0;
  let running = null; // the controller of the read under way
  let wanted = false;

  async function turn() {
    clearTimeout(timer);
    if (ended) return;
    if (running) {
      wanted = true;
      return;
    }
    running = new AbortController();
    wanted = false;
    try {
      await read(running.signal);
      failures = 0;
    } catch (error) {
      if (!running.signal.aborted && !(error instanceof ApiError)) console.error(error);
      failures += 1;
    }
    running = null;
    if (ended || document.hidden) return;
    timer = setTimeout(turn, wanted ? 0 : 1000 * Math.min(Math.max(SLOWEST, seconds), seconds * 2 ** Math.min(failures, 4)));
  }

  const wake = () => document.hidden || turn();
  document.addEventListener("visibilitychange", wake);
  turn();
  return {
    again: turn,
    end() {
      ended = true;
      clearTimeout(timer);
      running?.abort();
      document.removeEventListener("visibilitychange", wake);
    },
  };
}

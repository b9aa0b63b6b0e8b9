// The statuses of tasks.
export const LIVE = ["scheduled", "queued", "waiting", "running", "paused"];
export const ENDED = ["completed", "canceled", "dead"];
export const STATUSES = [...LIVE, ...ENDED];

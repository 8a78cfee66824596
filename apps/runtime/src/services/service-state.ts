import type { ServiceRecord } from "@appdb/contract/routes/local";

export type LocalServiceState = ServiceRecord["state"];

/** Events of a service: `ended` is an unexpected end of a process, `gave_up` the final one. */
export type LocalServiceEvent = "start" | "listening" | "ended" | "gave_up" | "stop" | "stopped";

/** Every state handles every event; `refuse` marks an internal error, never a user error. */
export const LOCAL_SERVICE_TRANSITIONS = {
  STARTING: {
    start: "refuse",
    listening: "AVAILABLE",
    ended: "STARTING",
    gave_up: "FAILED",
    stop: "STOPPING",
    stopped: "refuse",
  },
  AVAILABLE: {
    start: "refuse",
    listening: "refuse",
    ended: "STARTING",
    gave_up: "FAILED",
    stop: "STOPPING",
    stopped: "refuse",
  },
  STOPPING: {
    start: "refuse",
    listening: "STOPPING",
    ended: "STOPPING",
    gave_up: "STOPPING",
    stop: "STOPPING",
    stopped: "STOPPED",
  },
  STOPPED: {
    start: "STARTING",
    listening: "refuse",
    ended: "refuse",
    gave_up: "refuse",
    stop: "STOPPING",
    stopped: "STOPPED",
  },
  FAILED: {
    start: "STARTING",
    listening: "refuse",
    ended: "refuse",
    gave_up: "refuse",
    stop: "STOPPING",
    stopped: "STOPPED",
  },
} as const satisfies Record<LocalServiceState, Record<LocalServiceEvent, LocalServiceState | "refuse">>;

/** The state after an event. */
export function nextLocalServiceState(state: LocalServiceState, event: LocalServiceEvent): LocalServiceState {
  const next = LOCAL_SERVICE_TRANSITIONS[state][event];
  if (next === "refuse") throw new Error(`A service that is ${state} cannot take '${event}'.`);
  return next;
}

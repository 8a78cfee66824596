import type { DatabaseState } from "../routes/control-databases.ts";

/** What people ask for, and what the reconciler sees. */
export const DATABASE_EVENTS = {
  update: "an update was asked for",
  build_image: "another build of the image was asked for",
  start: "a start was asked for, or a request woke it",
  stop: "a stop was asked for, or it was idle for long enough",
  restart: "a restart was asked for",
  retry: "another try was asked for",
  delete: "its deletion was asked for",
  undelete: "its deletion was taken back",
  ready: "its pod answers",
  build_failed: "its image could not be built",
  start_failed: "its pod could not be started, or ended again and again",
  stopped: "its pods have ended",
  lost: "its pod does not answer any more",
} as const;
export type DatabaseEvent = keyof typeof DATABASE_EVENTS;

type Next = DatabaseState | "refuse";

const REFUSE_ALL = {
  update: "refuse",
  build_image: "refuse",
  start: "refuse",
  stop: "refuse",
  restart: "refuse",
  retry: "refuse",
  delete: "refuse",
  undelete: "refuse",
  ready: "refuse",
  build_failed: "refuse",
  start_failed: "refuse",
  stopped: "refuse",
  lost: "refuse",
} as const satisfies Record<DatabaseEvent, Next>;

/**
 * From a state, by an event, to the next state. A request that leads to the state that it finds is granted and does nothing.
 * Total: the compiler asks for every cell. docs/databases.md is printed from here, and the dashboard offers by it.
 */
export const DATABASE_TRANSITIONS = {
  // made for the first time, or built again after its first build failed
  PROVISIONING: {
    ...REFUSE_ALL,
    delete: "DELETING",
    ready: "AVAILABLE",
    build_failed: "FAILED",
    start_failed: "FAILED",
    lost: "PROVISIONING",
  },
  UPDATING: {
    ...REFUSE_ALL,
    delete: "DELETING",
    ready: "AVAILABLE",
    // it goes on with the image that it has; last_build says what happened
    build_failed: "AVAILABLE",
    start_failed: "FAILED",
    lost: "UPDATING",
  },
  AVAILABLE: {
    ...REFUSE_ALL,
    update: "UPDATING",
    build_image: "UPDATING",
    start: "AVAILABLE",
    stop: "STOPPING",
    restart: "STARTING",
    delete: "DELETING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "STARTING",
  },
  STOPPING: { ...REFUSE_ALL, stop: "STOPPING", delete: "DELETING", stopped: "STOPPED", lost: "STOPPING" },
  STOPPED: { ...REFUSE_ALL, start: "STARTING", stop: "STOPPED", delete: "DELETING", stopped: "STOPPED" },
  STARTING: {
    ...REFUSE_ALL,
    start: "STARTING",
    stop: "STOPPING",
    delete: "DELETING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "STARTING",
  },
  FAILED: {
    ...REFUSE_ALL,
    build_image: "PROVISIONING",
    start: "STARTING",
    stop: "STOPPING",
    retry: "STARTING",
    delete: "DELETING",
    // it came back by itself: a machine that was short of memory, for example
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "FAILED",
  },
  DELETING: { ...REFUSE_ALL, delete: "DELETING", undelete: "STOPPED", stopped: "DELETING", lost: "DELETING" },
} as const satisfies Record<DatabaseState, Record<DatabaseEvent, Next>>;

/** The next state; undefined when the state does not allow the event. */
export function nextDatabaseState(state: DatabaseState, event: DatabaseEvent): DatabaseState | undefined {
  const next: Next = DATABASE_TRANSITIONS[state][event];
  return next === "refuse" ? undefined : next;
}

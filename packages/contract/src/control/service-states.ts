import type { ServiceState } from "../routes/control-services.ts";

/** User requests, and observations of the reconciler. */
export const SERVICE_EVENTS = {
  update: "an update or a rollback was requested",
  restart: "a restart was requested",
  stop: "a stop was requested",
  retry: "a retry was requested",
  ready: "its pod serves",
  start_failed: "its pod could not be started, or ended repeatedly",
  stopped: "its pods have ended, or its database went to sleep",
  lost: "its pod no longer serves",
  woken: "its database is awake again",
} as const;
export type ServiceEvent = keyof typeof SERVICE_EVENTS;

type Next = ServiceState | "refuse";

const REFUSE_ALL = {
  update: "refuse",
  restart: "refuse",
  stop: "refuse",
  retry: "refuse",
  ready: "refuse",
  start_failed: "refuse",
  stopped: "refuse",
  lost: "refuse",
  woken: "refuse",
} as const satisfies Record<ServiceEvent, Next>;

/**
 * State and event to next state. A request for the current state succeeds; it replaces one in progress. Total: the
 * compiler demands every cell. docs/services.md is generated from it, and the dashboard offers actions by it.
 */
export const SERVICE_TRANSITIONS = {
  // Created for the first time.
  DEPLOYING: {
    ...REFUSE_ALL,
    update: "DEPLOYING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    stopped: "STOPPED",
    lost: "DEPLOYING",
  },
  // No instance serves.
  STARTING: {
    ...REFUSE_ALL,
    update: "STARTING",
    restart: "STARTING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    stopped: "STOPPED",
    lost: "STARTING",
    woken: "STARTING",
  },
  // One instance serves, another is starting.
  UPDATING: {
    ...REFUSE_ALL,
    update: "UPDATING",
    restart: "UPDATING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    // The serving instance continues.
    start_failed: "AVAILABLE",
    stopped: "STOPPED",
    lost: "STARTING",
  },
  AVAILABLE: {
    ...REFUSE_ALL,
    update: "UPDATING",
    restart: "UPDATING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    stopped: "STOPPED",
    lost: "STARTING",
  },
  STOPPING: {
    ...REFUSE_ALL,
    update: "STARTING",
    restart: "STARTING",
    stop: "STOPPING",
    stopped: "STOPPED",
    lost: "STOPPING",
  },
  STOPPED: {
    ...REFUSE_ALL,
    update: "STARTING",
    restart: "STARTING",
    stop: "STOPPED",
    retry: "STARTING",
    stopped: "STOPPED",
    woken: "STARTING",
  },
  FAILED: {
    ...REFUSE_ALL,
    update: "STARTING",
    restart: "STARTING",
    stop: "STOPPING",
    retry: "STARTING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    stopped: "STOPPED",
    lost: "FAILED",
    woken: "STARTING",
  },
} as const satisfies Record<ServiceState, Record<ServiceEvent, Next>>;

/** The next state; undefined when the state does not allow the event. */
export function nextServiceState(state: ServiceState, event: ServiceEvent): ServiceState | undefined {
  const next: Next = SERVICE_TRANSITIONS[state][event];
  return next === "refuse" ? undefined : next;
}

import type { ServiceState } from "../routes/control-services.ts";

/** What people ask for, and what the reconciler sees. */
export const SERVICE_EVENTS = {
  update: "an update or a rollback was asked for",
  restart: "a restart was asked for",
  stop: "a stop was asked for",
  retry: "another try was asked for",
  ready: "its pod serves",
  start_failed: "its pod could not be started, or ended again and again",
  stopped: "its pods have ended, or its database went to sleep",
  lost: "its pod does not serve any more",
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
 * From a state, by an event, to the next state. A request that leads to the state that it finds is granted; one that is under way is
 * replaced by it. Total: the compiler asks for every cell. docs/services.md is printed from here, and the dashboard offers by it.
 */
export const SERVICE_TRANSITIONS = {
  // made for the first time
  DEPLOYING: {
    ...REFUSE_ALL,
    update: "DEPLOYING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    stopped: "STOPPED",
    lost: "DEPLOYING",
  },
  // nothing of it serves
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
  // one instance serves, another is being started
  UPDATING: {
    ...REFUSE_ALL,
    update: "UPDATING",
    restart: "UPDATING",
    stop: "STOPPING",
    ready: "AVAILABLE",
    // the instance that serves goes on
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

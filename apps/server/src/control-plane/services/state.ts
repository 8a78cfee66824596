import { nextServiceState, SERVICE_TRANSITIONS, type ServiceEvent } from "@appdb/contract/control/service-states";
import { appError } from "@appdb/contract/errors";
import type { ServiceState } from "@appdb/contract/routes/control-services";

const ASKED: Partial<Readonly<Record<ServiceEvent, string>>> = {
  update: "updated",
  restart: "restarted",
  stop: "stopped",
  retry: "tried again",
};

/** The state after a request. @throws service_state */
export function requestServiceState(uri: string, state: ServiceState, event: ServiceEvent): ServiceState {
  const next = nextServiceState(state, event);
  if (next !== undefined) return next;
  const verb = ASKED[event] ?? "changed";
  const allowed = (Object.keys(SERVICE_TRANSITIONS) as ServiceState[]).filter(
    (from) => nextServiceState(from, event) !== undefined,
  );
  throw appError("service_state", {
    detail: `${uri} is ${state}; it can be ${verb} when it is ${allowed.join(" or ")}.`,
    hint: `See its state: cli service list ${uri.slice(0, uri.indexOf("/", "cloud://".length))}`,
    meta: { uri, state },
  });
}

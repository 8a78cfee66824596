import type { Database } from "@appdb/contract/routes/control-databases";
import type { HostedService } from "@appdb/contract/routes/control-services";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import type { MachineCheck } from "../../context.ts";

/** States of services and databases in which they serve nothing yet. */
const COMING: readonly string[] = ["DEPLOYING", "PROVISIONING", "STARTING"];

/** `name` begins with the database. */
export function localServiceCheck({ name, state }: Pick<ServiceRecord, "name" | "state">): MachineCheck {
  const starts = COMING.includes(state);
  const ok = state !== "FAILED" && !starts;
  const hint = starts ? `Wait until it serves: cli service list ${name}` : `See why: cli service logs ${name}`;
  return { name: "service", ok, detail: `${name} ${state}`, hint: ok ? null : hint };
}

/** The failure is that of the last start, also while the server tries again. */
export function hostedServiceCheck({ failure, name, state, uri }: HostedService): MachineCheck {
  const starts = COMING.includes(state);
  const ok = failure === null && state !== "FAILED" && !starts;
  const reason = failure === null ? "" : `: ${failure.code}: ${failure.detail}`;
  const look = starts ? `Wait until it serves: cli service list ${uri}` : `See why: cli service logs ${uri}`;
  return { name: "service", ok, detail: `${name} ${state}${reason}`, hint: ok ? null : (failure?.hint ?? look) };
}

export function hostedDatabaseCheck({
  failure,
  state,
  uri,
}: Pick<Database, "failure" | "state" | "uri">): MachineCheck {
  const starts = COMING.includes(state);
  const ok = failure === null && state !== "FAILED" && !starts;
  const look = starts ? `Wait until it runs: cli db status ${uri}` : `Retry it: cli db retry ${uri}`;
  const detail = failure === null ? state : `${state}: ${failure.detail}`;
  return { name: "database", ok, detail, hint: ok ? null : (failure?.hint ?? look) };
}

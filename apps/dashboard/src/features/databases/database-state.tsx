import type { Database, DatabaseState } from "@appdb/contract/routes/control-databases";
import { Badge } from "../../ui/badge.tsx";

const TONES = {
  PROVISIONING: "accent",
  UPDATING: "accent",
  AVAILABLE: "good",
  STOPPING: "accent",
  STOPPED: "plain",
  STARTING: "accent",
  FAILED: "danger",
  DELETING: "warn",
} as const satisfies Record<DatabaseState, "plain" | "accent" | "good" | "warn" | "danger">;

export function DatabaseStateBadge({ state }: { readonly state: DatabaseState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

/**
 * Reload interval. A stream would be faster, but browsers share six plain HTTP connections among all pages of a server.
 */
const SETTLED_MS = 3_000;
const MOVING_MS = 1_000;

export function refreshMs(databases: readonly Pick<Database, "state" | "operation">[]): number {
  return databases.every(isSettled) ? SETTLED_MS : MOVING_MS;
}

/** Whether the state stays until someone acts. */
function isSettled({ state, operation }: Pick<Database, "state" | "operation">): boolean {
  return (
    operation === null && (state === "AVAILABLE" || state === "STOPPED" || state === "FAILED" || state === "DELETING")
  );
}

import type { Database } from "@appdb/contract/routes/control-databases";
import { Badge } from "../../ui/badge.tsx";

type State = Database["state"];

const TONES = {
  PROVISIONING: "accent",
  UPDATING: "accent",
  AVAILABLE: "good",
  STOPPING: "accent",
  STOPPED: "plain",
  STARTING: "accent",
  FAILED: "danger",
  DELETING: "warn",
} as const satisfies Record<State, "plain" | "accent" | "good" | "warn" | "danger">;

export function DatabaseState({ state }: { readonly state: State }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

/** Whether the state stays until somebody does something. */
export function isSettled(state: State): boolean {
  return state === "AVAILABLE" || state === "STOPPED" || state === "FAILED";
}

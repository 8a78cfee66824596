import type { ServiceState } from "@appdb/contract/routes/control-services";
import { Badge } from "../../ui/badge.tsx";

const TONES = {
  DEPLOYING: "accent",
  STARTING: "accent",
  UPDATING: "accent",
  AVAILABLE: "good",
  STOPPING: "accent",
  STOPPED: "plain",
  FAILED: "danger",
} as const satisfies Record<ServiceState, "plain" | "accent" | "good" | "danger">;

export function ServiceStateBadge({ state }: { readonly state: ServiceState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

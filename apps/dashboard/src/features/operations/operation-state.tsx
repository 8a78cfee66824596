import type { Operation } from "@appdb/contract/routes/control";
import { Badge } from "../../ui/badge.tsx";

const TONES = {
  pending: "accent",
  running: "accent",
  succeeded: "good",
  failed: "danger",
  cancelled: "plain",
} as const satisfies Record<Operation["state"], "plain" | "accent" | "good" | "danger">;

export function OperationState({ state }: { readonly state: Operation["state"] }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

export function hasEnded({ state }: Pick<Operation, "state">): boolean {
  return state !== "pending" && state !== "running";
}

import type { Operation } from "@appdb/contract/routes/control";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { text } from "../parameters.ts";

export const OPERATION = { brief: "Its id, or the start of it", placeholder: "ID", parse: text } as const;

/** `id  kind  state  target  actor`, and the error if there is one. */
export function operationCells(operation: Operation): string[] {
  const { actor, created_at: createdAt, id, kind, state, target } = operation;
  return [id, kind, state, target, actor, createdAt].map(showControls);
}

/** Prints one operation with its times and its error. */
export function printOperation(operation: Operation, out: Output): void {
  const { actor, detail, error, id, kind, state, target } = operation;
  out.line(`${[kind, target, state].map(showControls).join("  ")}`);
  out.line(`    id       ${showControls(id)}`);
  out.line(`    by       ${showControls(actor)}`);
  if (detail !== null) out.line(`    detail   ${showControls(detail)}`);
  for (const time of ["created_at", "started_at", "ended_at"] as const) {
    if (operation[time] !== null) out.line(`    ${time.replace("_at", "").padEnd(7)}  ${operation[time]}`);
  }
  if (error === null) return;
  out.line(`    error    ${showControls(error.detail)} (${showControls(error.code)})`);
  if (error.hint !== null) out.line(`    hint     ${showControls(error.hint)}`);
}

export function hasEnded({ state }: Operation): boolean {
  return state !== "pending" && state !== "running";
}

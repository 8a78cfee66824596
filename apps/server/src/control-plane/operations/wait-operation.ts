import type { Operation } from "@appdb/contract/routes/control";
import type { Notifications } from "../../database/notifications.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { findOperation, hasEnded, toOperation } from "./operations-store.ts";

export interface WaitOperationDeps {
  readonly db: ControlDatabase;
  readonly notifications: Notifications;
}

/** Returns an operation when it ends, after `wait_ms`, or when the caller disconnects.  @throws operation_not_found */
export async function waitOperation(
  deps: WaitOperationDeps,
  wanted: { readonly org_id: string; readonly id: string; readonly wait_ms: number },
  signal: AbortSignal,
): Promise<Operation> {
  const read = () => findOperation(deps.db, wanted.org_id, wanted.id);
  const first = await read();
  if (hasEnded(first) || wanted.wait_ms === 0) return toOperation(first);
  let wake = () => {};
  let isDue = false;
  const told = () => {
    isDue = true;
    wake();
  };
  let isOver = false;
  const end = () => {
    isOver = true;
    wake();
  };
  const timer = setTimeout(end, wanted.wait_ms);
  signal.addEventListener("abort", end);
  const stop = await deps.notifications.listen("control_operations", (id) => {
    if (id === undefined || id === first.id) told();
  });
  try {
    // read again: changes before the listener started were not notified
    let row = await read();
    while (!hasEnded(row) && !isOver && !signal.aborted) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDue || isOver) resolve();
      });
      isDue = false;
      row = await read();
    }
    return toOperation(row);
  } finally {
    stop();
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

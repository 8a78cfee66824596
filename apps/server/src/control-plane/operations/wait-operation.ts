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
  request: { readonly org_id: string; readonly id: string; readonly wait_ms: number },
  signal: AbortSignal,
): Promise<Operation> {
  const read = () => findOperation(deps.db, request.org_id, request.id);
  const first = await read();
  if (hasEnded(first) || request.wait_ms === 0) return toOperation(first);
  let wake = () => {};
  let isDue = false;
  const onEvent = () => {
    isDue = true;
    wake();
  };
  let isEnded = false;
  const end = () => {
    isEnded = true;
    wake();
  };
  const timer = setTimeout(end, request.wait_ms);
  signal.addEventListener("abort", end);
  const stop = await deps.notifications.listen("control_operations", (id) => {
    if (id === undefined || id === first.id) onEvent();
  });
  try {
    // read again: changes before the listener started were not notified
    let row = await read();
    while (!hasEnded(row) && !isEnded && !signal.aborted) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDue || isEnded) resolve();
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

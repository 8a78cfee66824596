import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import { podUnreachable } from "../../pods/pod-client.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import type { PreparedService } from "./prepare-service.ts";
import { loadServiceSnapshot, type ServiceSnapshot } from "./service-resource.ts";

/** How long an instance waits for its database to start. A slower database starts its services afterwards. */
const BESIDE_MS = 20_000;
const POLL_MS = 10;

/**
 * Makes the database's pod create a service's role. Waits until a starting database is AVAILABLE.
 * @throws database_not_reached; the pod's refusals
 */
export async function reachDatabase(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  prepared: Pick<PreparedService, "database">,
  signal: AbortSignal,
): Promise<void> {
  const isStarting = snapshot.database.state === "STARTING";
  const until = performance.now() + (isStarting ? BESIDE_MS : 0);
  await ensureRole(deps, snapshot, prepared, until, signal);
  if (isStarting) await awaitAvailable(deps, snapshot, until, signal);
}

/** A listening pod answers once its PostgreSQL runs. */
async function ensureRole(
  { machine }: ReconcileDeps,
  { row }: ServiceSnapshot,
  { database }: Pick<PreparedService, "database">,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await machine.ensureServiceRole(database, row.id, signal);
      return;
    } catch (error) {
      const isSilent = error instanceof AppError && error.code === "database_not_reached";
      if (!isSilent || performance.now() >= until) throw error;
      await sleep(POLL_MS, undefined, { signal });
    }
  }
}

/** The database's own job notifies. */
async function awaitAvailable(
  { db, notifications }: ReconcileDeps,
  { database, row }: ServiceSnapshot,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  let notify = () => {};
  let notified = new Promise<void>((resolve) => (notify = resolve));
  const stop = await notifications.listen("control_databases", (id) => {
    if (id === undefined || id === database.id) notify();
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      const now = await loadServiceSnapshot(db, row.id);
      if (now === undefined || now.database.state !== "STARTING") return;
      const leftMs = until - performance.now();
      if (leftMs <= 0) throw podUnreachable(database.uri);
      // the loser of the race must not delay the server's stop
      await Promise.race([notified, sleep(leftMs, undefined, { signal, ref: false })]);
      notified = new Promise((resolve) => (notify = resolve));
    }
  } finally {
    stop();
  }
}

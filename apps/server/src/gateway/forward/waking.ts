import { nextDatabaseState } from "@appdb/contract/control/database-states";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { Logger } from "@appdb/engine/ports";
import { BY_SYSTEM, type RecordEvent } from "../../audit/event.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { startOperation } from "../../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";
import * as refusals from "../exchange/refusals.ts";
import {
  findServiceById,
  type RoutedDatabase,
  type RoutedService,
  type RoutingTable,
  servingInstance,
} from "../routing/routing-table.ts";

/** How long a request waits for a database that wakes. */
const WAKE_MS = 30_000;
/** How long a request waits for a service that starts in an awake database. */
const START_MS = 5_000;
/** Maximum waiting requests of one database. More are refused at once. */
const MAX_WAITING = 1_000;
/** Recovers from a missed event of the reconciler. */
const LOOK_MS = 1_000;

export interface WakingDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  readonly table: RoutingTable;
}

/** Requests to services that do not serve yet. */
export interface Waking {
  /**
   * Wakes the database if allowed, and resolves once the service serves.
   * @throws database_asleep, database_failed, service_not_available, overloaded
   */
  waitFor(exchange: Exchange, service: RoutedService): Promise<void>;
}

export function createWaking(deps: WakingDeps): Waking {
  const waiting = new Map<string, number>();
  const wakes = new Map<string, Promise<void>>();
  const wakeOnce = (database: RoutedDatabase) => {
    if (wakes.has(database.id)) return;
    const wake = wakeDatabase(deps, database)
      .catch((error: unknown) => {
        deps.log.warn({ err: error, db: database.id }, "a request could not wake a database");
      })
      .finally(() => wakes.delete(database.id));
    wakes.set(database.id, wake);
  };
  return {
    async waitFor(exchange, { id, name }) {
      const { database } = exchange;
      if (database === undefined) return;
      const count = waiting.get(database.id) ?? 0;
      if (count >= MAX_WAITING) throw refusals.tooManyAtOnce(name, MAX_WAITING);
      waiting.set(database.id, count + 1);
      const startedAt = performance.now();
      try {
        for (;;) {
          const now = deps.table.byId(database.id);
          const service = now && findServiceById(now, id);
          if (now === undefined || service === undefined) throw refusals.noService(`/${name}`);
          if (servingInstance(service) !== undefined || isDisconnected(exchange)) return;
          const maxMs = waitTime(now, service);
          if (performance.now() - startedAt >= maxMs) throw refusal(now, service);
          if (now.state === "STOPPED") wakeOnce(now);
          await deps.table.changed(now.id, LOOK_MS);
        }
      } finally {
        const remaining = (waiting.get(database.id) ?? 1) - 1;
        if (remaining === 0) waiting.delete(database.id);
        else waiting.set(database.id, remaining);
      }
    },
  };
}

/** 0 if the service does not start automatically. */
function waitTime(database: RoutedDatabase, service: RoutedService): number {
  if (!service.is_wanted || service.state === "FAILED") return 0;
  switch (database.state) {
    case "STOPPED":
    case "STOPPING":
    case "STARTING":
      return database.is_woken ? WAKE_MS : 0;
    case "AVAILABLE":
    case "UPDATING":
      // services start after their database wakes
      return database.is_woken ? WAKE_MS : START_MS;
    default:
      return 0;
  }
}

function refusal(database: RoutedDatabase, service: RoutedService): Error {
  if (database.state === "FAILED" && service.is_wanted) return refusals.failed(database);
  return isAsleep(database, service) ? refusals.asleep(database) : refusals.notRunning(database, service);
}

/** Whether a service is down because its database sleeps or starts. A failed database does neither. */
export function isAsleep(database: RoutedDatabase, service: RoutedService): boolean {
  const isUp = database.state === "AVAILABLE" || database.state === "UPDATING" || database.state === "FAILED";
  return service.is_wanted && !isUp;
}

/** Starts a database like a person's request. Does nothing if its state has changed. */
async function wakeDatabase({ db, recordEvent }: WakingDeps, { id, organization }: RoutedDatabase): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom("control.databases")
      .select(["org_id", "name", "state", "desired", "generation"])
      .where("id", "=", id)
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined || row.state !== "STOPPED" || !row.desired.settings.wake_on_request) return;
    const state = nextDatabaseState(row.state, "start");
    if (state === undefined) return;
    await tx
      .updateTable("control.databases")
      .set({
        state,
        desired: JSON.stringify({ ...row.desired, is_awake: true }),
        generation: row.generation + 1,
        failure: null,
      })
      .where("id", "=", id)
      .execute();
    await startOperation(
      { tx, recordEvent },
      {
        org_id: row.org_id,
        database_id: id,
        kind: "database.start",
        target: databaseUriOf(organization, row.name),
        is_cancellable: false,
        ...BY_SYSTEM,
        detail: "woken by a request",
      },
    );
    await enqueueReconcileDatabase(tx, id);
  });
}

import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { DatabaseChange } from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import type { DesiredDatabase } from "../../database/desired.ts";
import type { Caller } from "../keys/create-key.ts";
import { type DatabaseRow, databaseNotFound, lockDatabase } from "./databases-store.ts";
import { requestState } from "./state.ts";
import { type DatabaseChangeDeps, nothingToDo, writeChange } from "./write-change.ts";

/** Requests to a database other than updates and deletion. */
export type DatabaseVerb = "build_image" | "start" | "stop" | "restart" | "retry" | "undelete";

const KINDS = {
  build_image: "database.build",
  start: "database.start",
  stop: "database.stop",
  restart: "database.restart",
  retry: "database.retry",
  undelete: "database.undelete",
} as const satisfies Record<DatabaseVerb, string>;

/**
 * Records a request to a database. A database that is already in the requested state is left alone.
 * @throws database_not_found, database_not_available, database_state
 */
export async function requestChange(
  deps: DatabaseChangeDeps,
  caller: Caller,
  name: string,
  verb: DatabaseVerb,
): Promise<DatabaseChange> {
  const { org } = caller;
  const row = await lockDatabase(deps.tx, org.id, name);
  if (row === undefined) throw databaseNotFound(org, name);
  const state = requestState(databaseUriOf(org.name, row.name), row.state, verb);
  if (isInRequestedState(row, verb, state)) return await nothingToDo(deps, caller, row.name);
  if (verb === "undelete") await refusePurged(deps, row, databaseUriOf(org.name, row.name));
  return await writeChange(deps, caller, row, { kind: KINDS[verb], state, desired: nextDesired(row.desired, verb) });
}

function isInRequestedState(row: DatabaseRow, verb: DatabaseVerb, next: DatabaseRow["state"]): boolean {
  // the base library alone needs no build
  if (verb === "build_image" && row.state === "AVAILABLE") return row.desired.environment === null;
  return next === row.state;
}

function nextDesired(desired: DesiredDatabase, verb: DatabaseVerb): DesiredDatabase {
  switch (verb) {
    case "build_image":
      return { ...desired, is_awake: true, builds: desired.builds + 1 };
    case "start":
      return { ...desired, is_awake: true };
    case "stop":
    case "undelete":
      return { ...desired, is_awake: false };
    case "restart":
    case "retry":
      return { ...desired, is_awake: true, restarts: desired.restarts + 1 };
  }
}

/** @throws database_state once parts of its storage may be removed */
async function refusePurged({ tx }: DatabaseChangeDeps, row: DatabaseRow, uri: string): Promise<void> {
  const { is_over: isEnded } = await tx
    .selectFrom("control.databases")
    .select(sql<boolean>`purge_at <= now()`.as("is_over"))
    .where("id", "=", row.id)
    .executeTakeFirstOrThrow();
  if (!isEnded) return;
  throw appError("database_state", {
    detail: `The storage of ${uri} is being removed; it can no longer be undeleted.`,
    hint: `Create it again when it is deleted: cli db update ${uri}`,
    meta: { uri, state: row.state },
  });
}

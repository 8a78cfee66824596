import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { DatabaseChange } from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import type { Caller } from "../keys/create-key.ts";
import { databaseNotFound, lockDatabase, PROTECTED_DATABASE } from "./databases-store.ts";
import { requestState } from "./state.ts";
import { type DatabaseChangeDeps, nothingToDo, writeChange } from "./write-change.ts";

const DAY_S = 86_400;

/**
 * Deletes a database. Its pods end at once. Its storage is removed after the undelete period, or at once with `is_now`.
 * A pending deletion can be repeated with `is_now`.
 * @throws database_not_found, database_protected
 */
export async function deleteDatabase(
  deps: DatabaseChangeDeps & { readonly undelete_days: number },
  caller: Caller,
  input: { readonly name: string; readonly is_now: boolean },
): Promise<DatabaseChange> {
  const { org } = caller;
  const row = await lockDatabase(deps.tx, org.id, input.name);
  if (row === undefined) throw databaseNotFound(org, input.name);
  const uri = databaseUriOf(org.name, row.name);
  if (row.name === PROTECTED_DATABASE) throw isProtected(uri);
  const state = requestState(uri, row.state, "delete");
  if (row.state === "DELETING" && !input.is_now) return await nothingToDo(deps, caller, row.name);
  const keepS = input.is_now ? 0 : deps.undelete_days * DAY_S;
  return await writeChange(deps, caller, row, {
    kind: "database.delete",
    state,
    desired: { ...row.desired, is_awake: false },
    purge_at: sql<Date>`now() + make_interval(secs => ${keepS}::float8)`,
    detail: keepS === 0 ? "with its storage, at once" : `its storage will be removed in ${deps.undelete_days} days`,
  });
}

function isProtected(uri: string): Error {
  return appError("database_protected", {
    detail: `${uri} is the default database of its organization and cannot be deleted.`,
    hint: `Stop it instead, which keeps its data: cli db stop ${uri}`,
    meta: { uri },
  });
}

import { adviseOn, notAvailable } from "@appdb/contract/control/database-advice";
import { DATABASE_TRANSITIONS, type DatabaseEvent, nextDatabaseState } from "@appdb/contract/control/database-states";
import { appError } from "@appdb/contract/errors";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";

const ASKED: Partial<Readonly<Record<DatabaseEvent, string>>> = {
  update: "updated",
  build_image: "built again",
  start: "started",
  stop: "stopped",
  restart: "restarted",
  retry: "tried again",
  delete: "deleted",
  undelete: "undeleted",
};

/**
 * The state after a request.
 * @throws database_not_available if only an AVAILABLE database allows it, database_state otherwise
 */
export function requestState(uri: string, state: DatabaseState, event: DatabaseEvent): DatabaseState {
  const next = nextDatabaseState(state, event);
  if (next !== undefined) return next;
  const verb = ASKED[event] ?? "changed";
  const allowed = (Object.keys(DATABASE_TRANSITIONS) as DatabaseState[]).filter(
    (from) => nextDatabaseState(from, event) !== undefined,
  );
  if (allowed.length === 1 && allowed[0] === "AVAILABLE") throw notAvailable(uri, state, verb);
  throw appError("database_state", {
    detail: `${uri} is ${state}; it can be ${verb} when it is ${listWords(allowed)}.`,
    hint:
      state === "AVAILABLE" && event === "retry"
        ? "It has not failed. There is nothing to retry."
        : adviseOn(state, uri),
    meta: { uri, state },
  });
}

function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

import { AppError, appError } from "../errors.ts";
import type { Database, DatabaseState } from "../routes/control-databases.ts";

/** The next step when a database's state does not allow a request. */
const ADVICE: Readonly<Record<DatabaseState, (uri: string) => string>> = {
  PROVISIONING: (uri) => `Wait until it is AVAILABLE: cli db status ${uri}`,
  UPDATING: (uri) => `Wait until it is AVAILABLE: cli db status ${uri}`,
  AVAILABLE: (uri) => `Check its state: cli db status ${uri}`,
  STOPPING: (uri) => `Wait until it has stopped, then: cli db start ${uri}`,
  STOPPED: (uri) => `Wake it first: cli db start ${uri}`,
  STARTING: (uri) => `Wait until it is AVAILABLE: cli db status ${uri}`,
  FAILED: (uri) =>
    `Correct the project and build again: cli db build-image ${uri}   or try to start it: cli db retry ${uri}`,
  DELETING: (uri) => `Restore it: cli db undelete ${uri}`,
};

/** The refusal of a read in words of the request that read first, such as an insert. Returns any other error unchanged. */
export function inWordsOfRequest(error: unknown, verb: string): unknown {
  if (!(error instanceof AppError) || error.code !== "database_not_available") return error;
  const detail = error.message.replace(/must be AVAILABLE to be [a-z ]+\.$/, `must be AVAILABLE to be ${verb}.`);
  return new AppError(error.code, { detail, hint: error.hint, meta: error.meta, cause: error });
}

export const NO_LOCK_WARNING = "Without uv.lock or requirements.txt the image has the base library alone.";

/** The command that resolves a state. */
export function adviseOn(state: DatabaseState, uri: string): string {
  return ADVICE[state](uri);
}

/** Why a database takes no writes although it runs, and the next step; undefined while the server's disk has space. */
export function describeFullServer({
  is_server_disk_full: isFull,
  server_disk_free_bytes: free,
}: Pick<Database, "is_server_disk_full" | "server_disk_free_bytes">):
  | { readonly what: string; readonly hint: string }
  | undefined {
  if (isFull !== true) return undefined;
  const left = free === undefined ? "is nearly full" : `has ${Math.floor(free / 1024 ** 2)} MB left`;
  return {
    what: `The disk of the server ${left}: rows can be read, and writes are refused.`,
    hint: "Ask the operator of the server to free space on its disk. Or drop tables: cli drop",
  };
}

/** The error of a database that must be AVAILABLE; `verb` completes the sentence: `updated`. */
export function notAvailable(uri: string, state: DatabaseState, verb: string): AppError {
  return appError("database_not_available", {
    detail: `${uri} is ${state}; it must be AVAILABLE to be ${verb}.`,
    hint: adviseOn(state, uri),
    meta: { uri, state },
  });
}

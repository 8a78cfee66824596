import { appError } from "@appdb/contract/errors";
import type { SqlError } from "../ports.ts";
import { READ_LIMITS } from "./waiting-change.ts";

/** PostgreSQL's text for a statement that another connection cancelled. That of the time limit is another one. */
const BY_OTHERS = /due to user request/;

/** Whether a change of a table ended a read that it waited for. `signal` is the read's own, which cancels it, too. */
export function isEndedByChange({ message, sqlstate }: SqlError, signal?: AbortSignal): boolean {
  return sqlstate === "57014" && signal?.aborted !== true && BY_OTHERS.test(message);
}

export function endedByChange(cause: SqlError): Error {
  return appError("schema_changed", {
    detail: `A change of a table waited for this read, and ended it. The read began after the change, or ran for ${READ_LIMITS.read_ms / 1000} seconds.`,
    hint: "Read again when the change is done.",
    cause,
  });
}

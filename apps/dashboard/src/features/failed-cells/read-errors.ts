import {
  type ExactJson,
  type ExactObject,
  isArray,
  isObject,
  parseExact,
  printExact,
} from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";

/** Failed cells of one table: a count for each column, and the first cells. */
export interface FailedCells {
  readonly counts: readonly (readonly [column: string, count: number])[];
  readonly cells: readonly FailedCell[];
}

export interface FailedCell {
  /** The row's key, as text. */
  readonly row: string;
  readonly column: string;
  /** `ValueError: bad text` */
  readonly reason: string;
  /** The column whose failure is the cause, if it is another one. */
  readonly cause: string | undefined;
}

/** Reads the errors of one table. Keys keep all digits.  @throws server_failed if they are malformed */
export function readErrors(text: string): FailedCells {
  const answer = parseExact(text);
  const tables = isObject(answer) ? answer.get("tables") : undefined;
  const [table] = isArray(tables) ? tables : [];
  if (!isArray(tables)) throw unreadable();
  if (!isObject(table)) return { counts: [], cells: [] };
  const [counts, errors] = [table.get("counts"), table.get("errors")];
  if (!isObject(counts) || !isArray(errors) || !errors.every(isObject)) throw unreadable();
  return {
    counts: [...counts].map(([column, count]) => [column, Number(textOf(count))]),
    cells: errors.map(readCell),
  };
}

function readCell(error: ExactObject): FailedCell {
  const key = error.get("key");
  const cause = error.get("cause");
  return {
    row: isObject(key) ? [...key.values()].map(textOf).join(", ") : "",
    column: textOf(error.get("column")),
    reason: [error.get("errortype"), error.get("errormsg")].map(textOf).filter(Boolean).join(": ") || "it failed",
    cause: typeof cause === "string" ? cause : undefined,
  };
}

function textOf(value: ExactJson | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : printExact(value);
}

function unreadable(): Error {
  return appError("server_failed", { detail: "The server's answer contains no errors.", hint: "Load the page again." });
}

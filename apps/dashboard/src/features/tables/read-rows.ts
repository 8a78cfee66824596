import { type ExactJson, type ExactObject, isArray, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";
import { fileKind, readFileCell, type ShownFile } from "../files/shown-file.ts";

export interface ExactPage {
  readonly rows: readonly ExactObject[];
  readonly next: string | null;
}

/** Reads a page of rows.  @throws server_failed if it is malformed */
export function readRowPage(text: string): ExactPage {
  const page = parseExact(text);
  const rows = isObject(page) ? page.get("rows") : undefined;
  const next = isObject(page) ? page.get("next") : undefined;
  if (!isArray(rows) || !rows.every(isObject)) throw unreadable();
  return { rows, next: typeof next === "string" ? next : null };
}

/** Reads the answer of an insert: the stored row.  @throws server_failed if it is malformed */
export function readRow(text: string): ExactObject {
  const row = parseExact(text);
  if (!isObject(row)) throw unreadable();
  return row;
}

function unreadable(): Error {
  return appError("server_failed", { detail: "The server's answer contains no rows.", hint: "Load the page again." });
}

/** The error of a cell, or that it is pending. Undefined for a value. */
export function cellFailure(row: ExactObject, column: string): string | undefined {
  const errors = row.get("_errors");
  const failure = isObject(errors) ? errors.get(column) : undefined;
  if (failure === undefined || failure === null) return undefined;
  if (failure === "pending") return "pending";
  if (!isObject(failure)) return "it failed";
  const [type, message] = [textOf(failure.get("type")), textOf(failure.get("message"))];
  return [type, message].filter((part) => part !== "").join(": ") || "it failed";
}

/** The file of a cell. Undefined for null, and for a column of another type. */
export function cellFile(row: ExactObject, column: string, type: string): ShownFile | undefined {
  const kind = fileKind(type);
  return kind === undefined ? undefined : readFileCell(row.get(column), kind);
}

function textOf(value: ExactJson | undefined): string {
  return typeof value === "string" ? value : "";
}

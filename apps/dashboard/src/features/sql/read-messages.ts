import { type ExactJson, ExactNumber, isArray, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { appError, fromProblem, parseProblem } from "@appdb/contract/errors";

/** The result of a statement. */
export interface SqlResult {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly ExactJson[])[];
  /** Whether the result is cut at the limit of the request. */
  readonly has_more: boolean;
}

export interface SqlColumn {
  readonly name: string;
  /** `string`, `int`: the nearest kind. */
  readonly kind: string;
}

/**
 * Reads the messages of a result, each a line. Numbers keep all digits.
 * @throws the error that ends the result; server_failed if it was cut off
 */
export function readMessages(text: string): SqlResult {
  const columns: SqlColumn[] = [];
  const rows: (readonly ExactJson[])[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const message = parseExact(line);
    if (!isObject(message)) throw cutOff();
    const [named, found, done] = [message.get("columns"), message.get("rows"), message.get("done")];
    if (isArray(named)) columns.push(...named.map(readColumn));
    if (isArray(found)) rows.push(...found.filter(isArray));
    if (message.has("error")) throw readError(line);
    if (isObject(done)) return { columns, rows, has_more: done.get("has_more") === true };
  }
  throw cutOff();
}

function readColumn(column: ExactJson): SqlColumn {
  const [name, type] = isObject(column) ? [column.get("name"), column.get("type")] : [];
  const kind = isObject(type) ? type.get("kind") : undefined;
  return { name: typeof name === "string" ? name : "", kind: typeof kind === "string" ? kind : "" };
}

function readError(line: string): Error {
  const { error } = JSON.parse(line) as { readonly error: unknown };
  const problem = parseProblem(JSON.stringify(error));
  return problem === undefined ? cutOff() : fromProblem(problem);
}

/** Whether a column's values are aligned as numbers. */
export function isNumeric(rows: SqlResult["rows"], at: number): boolean {
  return rows.some((row) => row[at] instanceof ExactNumber);
}

function cutOff(): Error {
  return appError("server_failed", {
    detail: "The result ended before it was complete.",
    hint: "Run the statement again.",
  });
}

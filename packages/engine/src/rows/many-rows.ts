import { AppError, appError, type FieldError } from "@appdb/contract/errors";
import type { Row } from "../compute/row-layout.ts";
import { bodyAt, type ColumnBatch } from "./column-batch.ts";
import { MAX_REPORTED_ERRORS } from "./error-list.ts";
import type { ColumnReader, StoredColumns } from "./stored-columns.ts";
import type { RowReader } from "./validate-row.ts";

/** Position of one of many rows in its request. */
export interface RowLocation {
  /** Row number from 0, as in JSON Pointers. */
  readonly row: number;
  /** For people: `Line 4`, or `[3]` in an array. */
  readonly name: string;
}

/** Rows that are written together, with their positions in the request. */
export interface RowBatch {
  readonly count: number;
  /** Size of what was sent for them. */
  readonly bytes: number;
  /** For rows that came as columns, they are made when this is first read. */
  readonly rows: readonly Row[];
  /** Their values where they can be stored without making rows. */
  readonly columns: StoredColumns | undefined;
  locationOf(at: number): RowLocation;
}

/**
 * The texts of a request's rows, several at a time: lines or elements of an array, or batches of columns in place of
 * lines. Blank lines are not rows.
 */
export interface RowTexts {
  readonly kind: "lines" | "list";
  readonly texts: AsyncIterable<ColumnBatch | readonly (string | Uint8Array)[]>;
  /** Undefined: rows are made of all batches of columns. */
  readonly read_columns?: ColumnReader | undefined;
}

export interface ManyRowsLimits {
  /** Maximum rows of one request. */
  readonly insert_rows: number;
  /** Maximum rows of a batch in memory. */
  readonly batch_rows: number;
}

/** Maximum text size of a batch with few rows. */
const BATCH_BYTES = 1_000_000;
/** Maximum number of errors reported per request, and of rows checked after the first error. */
const REFUSALS = { errors: MAX_REPORTED_ERRORS, rows: 10_000 } as const;

/**
 * Reads the rows of a request, batch by batch.
 * @throws invalid_request that names the first invalid rows, forbidden, invalid_json, payload_too_large; any error of `texts`
 */
export async function* readRows(source: RowTexts, read: RowReader, limits: ManyRowsLimits): AsyncGenerator<RowBatch> {
  const refused: FieldError[] = [];
  let firstRefusal: { readonly error: AppError; readonly row: number } | undefined;
  let rows: Row[] = [];
  let lines: number[] = [];
  let bytes = 0;
  let line = 0;
  let count = 0;
  for await (const texts of source.texts) {
    const columns = "columns" in texts && firstRefusal === undefined ? source.read_columns?.(texts) : undefined;
    if ("columns" in texts && columns !== undefined) {
      if (rows.length > 0) yield batchOf(source.kind, { rows, lines, bytes }, count);
      rows = [];
      lines = [];
      bytes = 0;
      if (count + texts.rows > limits.insert_rows) throw tooManyRows(limits);
      if (texts.rows > 0) yield new ColumnRows(texts, columns, read, { row: count, line });
      count += texts.rows;
      line += texts.rows;
      continue;
    }
    const batch = "columns" in texts ? texts : undefined;
    const lineTexts = "columns" in texts ? [] : texts;
    for (let index = 0; index < (batch?.rows ?? lineTexts.length); index++) {
      const text = batch === undefined ? (lineTexts[index] ?? "") : undefined;
      line += 1;
      if (source.kind === "lines" && text !== undefined && isBlank(text)) {
        if (line - count > limits.insert_rows) throw tooManyRows(limits);
        continue;
      }
      if (count === limits.insert_rows) throw tooManyRows(limits);
      count += 1;
      try {
        rows.push(read(batch === undefined ? (text ?? "") : bodyAt(batch, index), "row"));
        lines.push(line);
        bytes += batch === undefined ? (text ?? "").length : batch.bytes / batch.rows;
      } catch (error) {
        const location = placeOf(source.kind, count - 1, line);
        if (!(error instanceof AppError)) throw error;
        // A text that was split at the wrong place is not a valid array.
        if (source.kind === "list" && error.code === "invalid_json") throw brokenArray(error, location);
        // not about the row's values
        if (error.code === "forbidden") throw withRowLocation(error, location);
        firstRefusal ??= { error, row: count - 1 };
        refused.push(...rowErrors(error, location));
        if (refused.length >= REFUSALS.errors) throw refusal(refused, firstRefusal.error);
      }
      if (firstRefusal !== undefined) {
        rows = [];
        lines = [];
        if (count - firstRefusal.row > REFUSALS.rows) throw refusal(refused, firstRefusal.error);
      } else if (rows.length >= limits.batch_rows || bytes >= BATCH_BYTES) {
        yield batchOf(source.kind, { rows, lines, bytes }, count);
        rows = [];
        lines = [];
        bytes = 0;
      }
    }
  }
  if (firstRefusal !== undefined) throw refusal(refused, firstRefusal.error);
  if (rows.length > 0) yield batchOf(source.kind, { rows, lines, bytes }, count);
}

interface ReadRows extends Pick<RowBatch, "bytes" | "rows"> {
  readonly lines: readonly number[];
}

function batchOf(kind: RowTexts["kind"], { bytes, lines, rows }: ReadRows, count: number): RowBatch {
  const first = count - rows.length;
  const locationOf = (at: number) => placeOf(kind, first + at, lines[at] ?? 0);
  return { count: rows.length, bytes, rows, columns: undefined, locationOf };
}

/** Rows that came as columns. Only an error, or a COPY of texts, needs them as rows. */
class ColumnRows implements RowBatch {
  readonly columns: StoredColumns;
  readonly #batch: ColumnBatch;
  readonly #read: RowReader;
  readonly #first: { readonly row: number; readonly line: number };
  #rows: readonly Row[] | undefined;

  constructor(
    batch: ColumnBatch,
    columns: StoredColumns,
    read: RowReader,
    first: { readonly row: number; readonly line: number },
  ) {
    this.columns = columns;
    this.#batch = batch;
    this.#read = read;
    this.#first = first;
  }

  get count(): number {
    return this.#batch.rows;
  }

  get bytes(): number {
    return this.#batch.bytes;
  }

  get rows(): readonly Row[] {
    this.#rows ??= Array.from({ length: this.count }, (_, at) => this.#read(bodyAt(this.#batch, at), "row"));
    return this.#rows;
  }

  locationOf(at: number): RowLocation {
    return placeOf("lines", this.#first.row + at, this.#first.line + at + 1);
  }
}

function placeOf(kind: RowTexts["kind"], row: number, line: number): RowLocation {
  return { row, name: kind === "lines" ? `Line ${line}` : `[${row}]` };
}

function isBlank(text: string | Uint8Array): boolean {
  if (typeof text !== "string") return false;
  return text === "" || (text.charCodeAt(0) <= 0x20 && text.trim() === "");
}

function refusal(rowErrors: readonly FieldError[], first: AppError): Error {
  const errors = rowErrors.slice(0, REFUSALS.errors);
  const more = rowErrors.length >= REFUSALS.errors ? `, the first ${errors.length}` : "";
  return appError("invalid_request", {
    detail:
      errors.length === 1 && errors[0] !== undefined
        ? `${errors[0].detail} Nothing was stored.`
        : `${errors.length} values are invalid; \`errors\` lists each${more}. Nothing was stored.`,
    ...(first.hint === undefined ? {} : { hint: first.hint }),
    meta: first.meta,
    errors,
  });
}

function brokenArray(error: AppError, { name }: RowLocation): Error {
  return appError("invalid_json", {
    detail: `The body is not a JSON array of rows, at ${name}: ${error.message}`,
    hint: error.hint ?? "Send an array of objects.",
    cause: error,
  });
}

function tooManyRows({ insert_rows: insertRows }: Pick<ManyRowsLimits, "insert_rows">): Error {
  return appError("payload_too_large", {
    detail: `The body has more than ${insertRows} rows, the maximum of one request. Nothing was stored.`,
    hint: "Send fewer rows per request, or raise SERVICE_INSERT_ROWS.",
    meta: { limit: "insert_rows", value: insertRows },
  });
}

/** Adds the position of a row to an AppError. Other errors stay the same. */
export function withRowLocation(error: unknown, location: RowLocation): unknown {
  if (!(error instanceof AppError)) return error;
  return new AppError(error.code, {
    detail: `${location.name}: ${error.message}`,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    meta: { ...error.meta, row: location.row },
    errors: rowErrors(error, location),
    cause: error.cause,
  });
}

/** The errors of a row, with pointers into the whole request. */
export function rowErrors(error: AppError, location: RowLocation): readonly FieldError[] {
  const own = error.errors ?? [{ pointer: "", detail: error.message }];
  return own.map(({ pointer, detail }) => {
    const field = pointer === "" ? "" : `${pointer.slice(1)}: `;
    return { pointer: `/${location.row}${pointer}`, detail: `${location.name}: ${field}${detail}` };
  });
}

import { type AppError, appError } from "@appdb/contract/errors";
import { COLUMN_FORMS, type ColumnCells, type ColumnForm, type ColumnFormName } from "../kinds/inserts/column-forms.ts";
import type { ParsedBody } from "./parse-body.ts";

/** Rows of a frame are validated in one turn. */
const MAX_FRAME_ROWS = 10_000;

/** A column of a batch of rows, as a client sent it. */
export interface SentColumn {
  readonly name: string;
  readonly form: ColumnForm;
  readonly cells: ColumnCells;
}

/** Many rows by columns. */
export interface ColumnBatch {
  readonly rows: number;
  /** Size of the values. */
  readonly bytes: number;
  readonly columns: readonly SentColumn[];
}

interface Header {
  readonly rows: number;
  readonly columns: readonly { readonly name: string; readonly form: ColumnFormName; readonly nulls: boolean }[];
}

/** Reads the columns behind the header of a frame. @throws invalid_request */
export function readColumnBatch(headerText: string, data: Buffer): ColumnBatch {
  const header = readHeader(headerText);
  let at = 0;
  const next = (bytes: number): Buffer => {
    if (bytes > data.length - at) throw notColumns(`the frame ends within a column`);
    at += bytes;
    return data.subarray(at - bytes, at);
  };
  const columns = header.columns.map(({ name, form: formName, nulls: hasNulls }): SentColumn => {
    const form = COLUMN_FORMS[formName];
    const nulls = hasNulls ? next(header.rows) : undefined;
    if (form.width !== null) {
      const cells = { rows: header.rows, nulls, starts: undefined, data: next(form.width * header.rows) };
      return { name, form, cells };
    }
    const starts = startsOf(next(4 * header.rows), header.rows);
    return { name, form, cells: { rows: header.rows, nulls, starts, data: next(starts.at(-1) ?? 0) } };
  });
  if (at < data.length) throw notColumns(`${data.length - at} bytes follow the last column`);
  return { rows: header.rows, bytes: data.length, columns };
}

/** The row as a body that is a JSON object. @throws invalid_json for a value that is not JSON */
export function bodyAt({ columns }: ColumnBatch, at: number): ParsedBody {
  const members: Record<string, unknown> = {};
  const raws = new Map<string, () => string>();
  for (const { name, form, cells } of columns) {
    const cell = cells.nulls?.[at] === 1 ? NULL : cellAt(name, form, cells, at);
    // a name such as __proto__ is a member too
    Object.defineProperty(members, name, { value: cell.value, enumerable: true, configurable: true, writable: true });
    raws.set(name, cell.raw);
  }
  return { members, raw: (name) => raws.get(name)?.() ?? "null" };
}

const NULL = { value: null, raw: () => "null" } as const;

function cellAt(name: string, form: ColumnForm, cells: ColumnCells, at: number) {
  try {
    return form.cell(cells, at);
  } catch (error) {
    throw appError("invalid_json", {
      detail: `The value of "${name}" cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      hint: "Encode texts as UTF-8, and other values as JSON texts.",
      cause: error,
    });
  }
}

/** @throws invalid_request */
function readHeader(text: string): Header {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (error) {
    throw notColumns(`its header is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { rows, columns } = (typeof header === "object" && header !== null ? header : {}) as Partial<Header>;
  if (!Number.isInteger(rows) || (rows as number) < 0) throw notColumns("its header has no number of rows");
  if (!Array.isArray(columns)) throw notColumns("its header has no list of columns");
  if ((rows as number) > MAX_FRAME_ROWS) throw notColumns(`it has ${rows} rows, more than ${MAX_FRAME_ROWS}`);
  if (columns.length === 0 && rows !== 0) throw notColumns(`it has ${rows} rows and no column`);
  for (const column of columns as readonly unknown[]) checkColumn(column);
  return header as Header;
}

function checkColumn(column: unknown): void {
  const { form, name, nulls } = (typeof column === "object" && column !== null ? column : {}) as Record<
    string,
    unknown
  >;
  if (typeof name !== "string") throw notColumns("a column has no name");
  if (typeof form !== "string" || !Object.hasOwn(COLUMN_FORMS, form)) {
    throw appError("invalid_request", {
      detail: `The column ${name} has the form ${JSON.stringify(form)}, which this server does not know.`,
      hint: `Send one of these forms: ${Object.keys(COLUMN_FORMS).join(", ")}.`,
      meta: { column: name },
    });
  }
  if (typeof nulls !== "boolean") throw notColumns(`the column ${name} does not say whether it has nulls`);
}

/** Where each text begins, from the lengths. */
function startsOf(lengths: Buffer, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  let end = 0;
  for (let at = 0; at < rows; at++) {
    end += lengths.readUInt32LE(4 * at);
    if (end > MAX_BYTES) throw notColumns("a column announces more bytes than a frame can have");
    starts[at + 1] = end;
  }
  return starts;
}

const MAX_BYTES = 0x7fff_ffff;

/** The error of a frame that is not as documented. */
export function notColumns(reason: string): AppError {
  return appError("invalid_request", {
    detail: `A frame of the body does not have columns of rows: ${reason}. Nothing was stored.`,
    hint: "Send the frames that docs/data-api.md describes, or lines of JSON.",
  });
}

import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { DataColumn } from "@appdb/contract/routes/data-api";
import { type FileMetaData, parquetMetadataAsync, parquetRead, parquetSchema, type SchemaTree } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { Context } from "../context.ts";
import { durationColumns } from "./arrow-durations.ts";
import type { ParquetColumn } from "./parquet-columns.ts";
import { Unfit } from "./parquet-leaves.ts";
import { marksOf, readMarks } from "./parquet-marks.ts";
import { cellPrinter, durationPrinter, PARSERS, withoutTypes } from "./parquet-values.ts";
import { unreadable } from "./text-pieces.ts";
import { ParquetFile } from "./write-parquet.ts";

/** Rows of one piece. */
const AT_ONCE = 1_000;
/** Messages of the reader about a file that was cut off or changed. */
const CUT =
  /footer != PAR1|file is too short|ended early|outside the bounds|metadata length|metadata parse|out of range|unexpected end|invalid (?:block|magic|compressed)/i;

/** Begins a Parquet file in an open, empty file. Conversions of cells are of the caller's bundle, whose classes they compare. */
export function createParquet(
  file: number,
  columns: readonly DataColumn[],
  written: readonly ParquetColumn[],
): ParquetFile {
  return new ParquetFile(file, written, marksOf(columns));
}

/**
 * The rows of a Parquet file as JSON lines, a row group in memory at a time. `columnsOf` finds the table's columns by
 * the file's names.
 * @throws usage for a file that cannot be read; invalid_request for its content; errors of `columnsOf`
 */
export async function* parquetLines(
  { cwd }: Pick<Context, "cwd">,
  typed: string,
  columnsOf: (names: readonly string[]) => readonly DataColumn[],
): AsyncGenerator<readonly string[], void> {
  const handle = await open(resolve(cwd, typed)).catch((cause: unknown) => {
    throw unreadable(typed, cause);
  });
  try {
    const { size } = await handle.stat().catch((cause: unknown) => {
      throw unreadable(typed, cause);
    });
    const file = {
      byteLength: size,
      slice: async (start: number, end = size) => {
        const bytes = new Uint8Array(end - start);
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
        if (bytesRead < bytes.length) throw new Error("The file ended early.");
        return bytes.buffer;
      },
    };
    const metadata = await understood(typed, () => parquetMetadataAsync(file));
    const trees = parquetSchema(metadata).children;
    const columns = columnsOf(trees.map(({ element }) => element.name));
    const cells = cellsOf(columns, trees, metadata);
    const physical = withoutTypes(metadata);
    let start = 0;
    for (const group of metadata.row_groups) {
      const end = start + Number(group.num_rows);
      const rows = await understood(typed, () => readGroup({ file, metadata: physical, start, end }));
      for (let at = 0; at < rows.length; at += AT_ONCE) {
        const first = start + at + 1;
        yield rows.slice(at, at + AT_ONCE).map((row, place) => rowLine(cells, row, `${typed}, row ${first + place}`));
      }
      start = end;
    }
  } finally {
    await handle.close();
  }
}

interface Group {
  readonly file: { readonly byteLength: number; slice(start: number, end?: number): Promise<ArrayBuffer> };
  readonly metadata: FileMetaData;
  readonly start: number;
  readonly end: number;
}

async function readGroup({ end, file, metadata, start }: Group): Promise<readonly (readonly unknown[])[]> {
  let found: readonly (readonly unknown[])[] = [];
  await parquetRead({
    file,
    metadata,
    compressors,
    parsers: PARSERS,
    // only columns of text become texts
    utf8: false,
    geoparquet: false,
    rowFormat: "array",
    rowStart: start,
    rowEnd: end,
    onComplete: (rows) => {
      found = rows as unknown[][];
    },
  });
  return found;
}

/** The cells of a column: its name, and how they are printed. */
interface Cells {
  readonly name: string;
  readonly print: (value: unknown) => string;
}

function cellsOf(
  columns: readonly DataColumn[],
  trees: readonly SchemaTree[],
  metadata: FileMetaData,
): readonly Cells[] {
  const kindOf = readMarks(metadata);
  const durations = durationColumns(metadata);
  return trees.flatMap((tree, at) => {
    const column = columns[at];
    if (column === undefined) return [];
    const kind = kindOf(tree.element.name);
    const isMarked = kind !== "" && column.type.toLowerCase().startsWith(kind);
    const isDuration = durations.has(tree.element.name);
    return [{ name: column.name, print: isDuration ? durationPrinter : cellPrinter(tree, column, isMarked) }];
  });
}

/** @throws invalid_request for a value that no column can store */
function rowLine(cells: readonly Cells[], row: readonly unknown[], place: string): string {
  const members = cells.map(({ name, print }, at) => {
    try {
      return `${JSON.stringify(name)}:${print(row[at])}`;
    } catch (cause) {
      if (!(cause instanceof Unfit)) throw cause;
      throw appError("invalid_request", {
        detail: `${place}, column ${name}: ${cause.message}.`,
        hint: "Correct the file, and insert it again. Nothing was inserted.",
        cause,
      });
    }
  });
  return `{${members.join(",")}}`;
}

/** The reader throws errors of its own for what it does not understand. @throws invalid_request */
async function understood<T>(typed: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    // the reader has no error of its own for data that end too early
    const isCut = cause instanceof RangeError || CUT.test(reason);
    throw appError("invalid_request", {
      detail: isCut
        ? `${typed} is not a complete Parquet file. Nothing was inserted.`
        : `${typed} cannot be read as Parquet: ${reason.replace(/^parquet /, "").replace(/\.$/, "")}. Nothing was inserted.`,
      hint: "Copy the file again, or write it again with another program.",
      cause,
    });
  }
}
